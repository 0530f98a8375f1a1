package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// firstVersion is the version of the replay server's first object.
const firstVersion = 1_000_000

type shape struct {
	object   runtime.Object
	version  schema.GroupVersion
	path     string
	resource string
}

var shapes = map[string]shape{
	"network":    {&Network{}, networkVersion, "/apis", "networks"},
	"deployment": {&appsv1.Deployment{}, appsv1.SchemeGroupVersion, "/apis", "deployments"},
	"pod":        {&corev1.Pod{}, corev1.SchemeGroupVersion, "/api", "pods"},
}

// syncWork fills an informer's cache from a server, then follows its changes: with the namespace index,
// an index over one label, and a handler that counts.
func syncWork(args []string) error {
	flags := flag.NewFlagSet("sync", flag.ExitOnError)
	server := flags.String("server", "", "the replay server's address")
	shapeName := flags.String("shape", "network", "the form of its objects")
	objects := flags.Int("objects", 0, "how many objects it has")
	updates := flags.Int("updates", 0, "how many changes follow")
	paged := flags.Bool("paged", false, "read the list in pages")
	managedFields := flags.Bool("managed-fields", false, "keep the objects' managedFields")
	kubeconfig := flags.String("kubeconfig", "", "the kubeconfig of a real server")
	writer := flags.String("writer", "", "the program that makes the changes on a real server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	mode, where, fieldsKept := "streamed", "", ""
	if *kubeconfig != "" {
		where = "real server, "
	}
	if *managedFields {
		fieldsKept = ", with managedFields"
	}
	if *paged {
		mode = "paged"
		if err := os.Setenv("KUBE_FEATURE_WatchListClient", "false"); err != nil {
			return err
		}
	}
	shape, known := shapes[*shapeName]
	if !known {
		return fmt.Errorf("there is no shape %q", *shapeName)
	}
	config := &rest.Config{Host: "http://" + *server, QPS: -1}
	if *kubeconfig != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", *kubeconfig); err != nil {
			return err
		}
		config.QPS = -1
	}

	var added, updated, version atomic.Int64
	var latencies latencies
	informer, err := newInformer(config, *shapeName, shape, *kubeconfig != "")
	if err != nil {
		return err
	}
	if err := informer.AddIndexers(indexers()); err != nil {
		return err
	}
	if !*managedFields {
		if err := informer.SetTransform(dropManagedFields); err != nil {
			return err
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) },
		UpdateFunc: func(old, new any) {
			after, _ := meta.Accessor(new)
			if *kubeconfig != "" {
				latencies.heard(after.GetLabels()[sentLabel])
				return
			}
			before, _ := meta.Accessor(old)
			if before.GetResourceVersion() != after.GetResourceVersion() {
				updated.Add(1)
			}
			reached, _ := strconv.ParseInt(after.GetResourceVersion(), 10, 64)
			version.Store(reached)
		},
	})
	if err != nil {
		return err
	}

	run := newRun(fmt.Sprintf("%s%d %s %s%s", where, *objects, *shapeName, mode, fieldsKept))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	before, _, err := memory()
	if err != nil {
		return err
	}
	begin, cpuBefore := time.Now(), cpu()
	go informer.RunWithContext(ctx)
	for !registration.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begin).Seconds()
	run.Measures["sync s"] = took
	run.Measures["sync µs per object"] = took * 1e6 / float64(*objects)
	run.Measures["sync CPU s"] = (cpu() - cpuBefore).Seconds()
	_, highest, err := memory()
	if err != nil {
		return err
	}
	run.Measures["peak memory MB"] = highest
	if int(added.Load()) != *objects {
		return errors.New("not every object arrived")
	}
	time.Sleep(500 * time.Millisecond)
	now, _, err := memory()
	if err != nil {
		return err
	}
	run.Measures["steady memory MB"] = now
	run.Measures["steady bytes per object"] = (now - before) * 1024 * 1024 / float64(*objects)
	// No program does this, but it shows how much of it is needed.
	debug.FreeOSMemory()
	if now, _, err = memory(); err != nil {
		return err
	}
	run.Measures["steady memory, collected MB"] = now

	if *updates == 0 {
		return run.print()
	}
	cpuBefore = cpu()
	begin = time.Now()
	told := 0
	if *kubeconfig != "" {
		told, err = latencies.measure(run, *writer, *kubeconfig, *shapeName, *objects, *updates)
	} else {
		err = replayUpdates(*server, &version, int64(firstVersion+*objects+*updates))
		told = int(updated.Load())
	}
	if err != nil {
		return err
	}
	run.Measures["updates/s"] = float64(*updates) / time.Since(begin).Seconds()
	run.Measures["updates CPU s"] = (cpu() - cpuBefore).Seconds()
	run.Measures["updates told one by one %"] = 100 * float64(told) / float64(*updates)
	if now, _, err = memory(); err != nil {
		return err
	}
	run.Measures["memory after updates MB"] = now
	return run.print()
}

// replayUpdates lets the replay server go on, and waits until the handler has heard of the last change.
func replayUpdates(server string, version *atomic.Int64, last int64) error {
	response, err := http.Post("http://"+server+"/go", "", nil)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	for version.Load() < last {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// newInformer makes an informer as a user of client-go gets it: for a built-in kind and a real server the
// one of the generated factory, which reads protobuf; otherwise one over a client for JSON.
func newInformer(config *rest.Config, name string, shape shape, real bool) (cache.SharedIndexInformer, error) {
	if real && name != "network" {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactory(clientset, 0)
		if name == "pod" {
			return factory.Core().V1().Pods().Informer(), nil
		}
		return factory.Apps().V1().Deployments().Informer(), nil
	}
	client, err := restClient(config, shape)
	if err != nil {
		return nil, err
	}
	listWatch := cache.NewListWatchFromClient(client, shape.resource, "", fields.Everything())
	namespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return cache.NewSharedIndexInformer(listWatch, shape.object, 0, namespace), nil
}

// dropManagedFields is the transform that most controllers set.
func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func indexers() cache.Indexers {
	return cache.Indexers{
		"app": func(object any) ([]string, error) {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return nil, err
			}
			if app, found := accessor.GetLabels()["app"]; found {
				return []string{app}, nil
			}
			return nil, nil
		},
	}
}

func restClient(config *rest.Config, shape shape) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{addNetworks, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config = rest.CopyConfig(config)
	config.APIPath = shape.path
	config.ContentConfig = rest.ContentConfig{
		GroupVersion:         &shape.version,
		NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
		ContentType:          runtime.ContentTypeJSON,
	}
	return rest.RESTClientFor(config)
}
