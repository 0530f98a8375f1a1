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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
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

// syncWork fills an informer's cache from a replay server, then follows its changes: with the
// namespace index, an index over one label, and a handler that counts.
func syncWork(args []string) error {
	flags := flag.NewFlagSet("sync", flag.ExitOnError)
	server := flags.String("server", "", "the replay server's address")
	shapeName := flags.String("shape", "network", "the form of its objects")
	objects := flags.Int("objects", 0, "how many objects it has")
	updates := flags.Int("updates", 0, "how many changes follow")
	paged := flags.Bool("paged", false, "read the list in pages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	mode := "streamed"
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
	client, err := restClient(*server, shape)
	if err != nil {
		return err
	}

	var added, updated, version atomic.Int64
	listWatch := cache.NewListWatchFromClient(client, shape.resource, "", fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, shape.object, 0, indexers())
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) },
		UpdateFunc: func(old, new any) {
			before, _ := meta.Accessor(old)
			after, _ := meta.Accessor(new)
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

	run := newRun(fmt.Sprintf("%d %s %s", *objects, *shapeName, mode))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	before, _, err := memory()
	if err != nil {
		return err
	}
	begin := time.Now()
	go informer.RunWithContext(ctx)
	for !registration.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begin).Seconds()
	run.Measures["sync s"] = took
	run.Measures["sync µs per object"] = took * 1e6 / float64(*objects)
	cpuOfSync := cpu()
	run.Measures["sync CPU s"] = cpuOfSync.Seconds()
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

	cpuBefore := cpu()
	begin = time.Now()
	response, err := http.Post("http://"+*server+"/go", "", nil)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if *updates > 0 {
		last := int64(firstVersion + *objects + *updates)
		for version.Load() < last {
			time.Sleep(time.Millisecond)
		}
		run.Measures["updates/s"] = float64(*updates) / time.Since(begin).Seconds()
		run.Measures["updates CPU s"] = (cpu() - cpuBefore).Seconds()
		run.Measures["updates told one by one %"] = 100 * float64(updated.Load()) / float64(*updates)
		now, _, err := memory()
		if err != nil {
			return err
		}
		run.Measures["memory after updates MB"] = now
	}
	return run.print()
}

func indexers() cache.Indexers {
	return cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
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

func restClient(server string, shape shape) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{addNetworks, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return rest.RESTClientFor(&rest.Config{
		Host:    "http://" + server,
		APIPath: shape.path,
		QPS:     -1,
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &shape.version,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
			ContentType:          runtime.ContentTypeJSON,
		},
	})
}
