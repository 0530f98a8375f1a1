package main

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	// batch is how many changes are made before all watchers are waited for: the tracker ends the program
	// if one of them lags a hundred events behind.
	batch = 50

	// lists is how many lists are made, one after the other.
	lists = 20
)

// trackerWork does with the fake clientset what `bench-fake` does with a server.
func trackerWork(args []string) error {
	flags := flag.NewFlagSet("tracker", flag.ExitOnError)
	objects := flags.Int("objects", 10_000, "how many objects are created")
	updates := flags.Int("updates", 1_000, "how many changes follow")
	watchers := flags.Int("watchers", 100, "how many watches see each of them")
	managed := flags.Bool("managed-fields", false, "the fake clientset that keeps managedFields")
	if err := flags.Parse(args); err != nil {
		return err
	}
	run := newRun(fmt.Sprintf("fake, %d deployments", *objects))
	begin := time.Now()
	var clients kubernetes.Interface
	if *managed {
		run.Peer = "client-go, managedFields"
		clients = fake.NewClientset()
	} else {
		clients = fake.NewSimpleClientset()
	}
	ctx := context.Background()
	if _, err := clients.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	run.Measures["start to first answer ms"] = time.Since(begin).Seconds() * 1e3

	created := make([]*appsv1.Deployment, *objects)
	for number := range created {
		created[number] = deployment(number, *objects)
	}
	before := cpu()
	begin = time.Now()
	for _, object := range created {
		if _, err := clients.AppsV1().Deployments(object.Namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	run.Measures["creates/s"] = float64(*objects) / time.Since(begin).Seconds()

	all := clients.AppsV1().Deployments(metav1.NamespaceAll)
	begin = time.Now()
	for number := range lists {
		found, err := all.List(ctx, metav1.ListOptions{LabelSelector: "app=" + app(number, *objects)})
		if err != nil {
			return err
		}
		if len(found.Items) != objectsPerApp {
			return fmt.Errorf("%d objects have a label that %d have", len(found.Items), objectsPerApp)
		}
	}
	run.Measures["list by a label, 100 objects ms"] = time.Since(begin).Seconds() * 1e3 / lists
	begin = time.Now()
	found, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(found.Items) != *objects {
		return fmt.Errorf("%d objects are listed of %d", len(found.Items), *objects)
	}
	run.Measures["list of everything ms"] = time.Since(begin).Seconds() * 1e3

	if err := follow(ctx, clients, run, found.ResourceVersion, *objects, *updates, *watchers); err != nil {
		return err
	}
	run.Measures["CPU s"] = (cpu() - before).Seconds()
	now, _, err := memory()
	if err != nil {
		return err
	}
	run.Measures["memory MB"] = now
	return run.print()
}

// follow changes objects while watchers watch, from the version of a list as clients do, and counts the events that
// they see.
func follow(
	ctx context.Context, clients kubernetes.Interface, run *run, version string, objects, updates, watchers int,
) error {
	var seen atomic.Int64
	news := make(chan struct{}, 1)
	for range watchers {
		events, err := clients.AppsV1().Deployments(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			return err
		}
		defer events.Stop()
		go func() {
			for event := range events.ResultChan() {
				if event.Type != watch.Modified {
					continue
				}
				seen.Add(1)
				select {
				case news <- struct{}{}:
				default:
				}
			}
		}()
	}
	begin := time.Now()
	for turn := range updates {
		number := turn * 7919 % objects
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"turn":"%d"}}}`, turn)
		one := clients.AppsV1().Deployments(namespace(number, objects))
		if _, err := one.Patch(ctx, name(number), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
		if turn%batch == batch-1 || turn == updates-1 {
			for seen.Load() < int64((turn+1)*watchers) {
				<-news
			}
		}
	}
	events := float64(updates * watchers)
	run.Measures[fmt.Sprintf("events/s to %d watchers", watchers)] = events / time.Since(begin).Seconds()
	return nil
}

// deployment is the object that the other side reads from its manifest.
func deployment(number, count int) *appsv1.Deployment {
	labels := map[string]string{"app": app(number, count)}
	quarter := intstr.FromString("25%")
	container := corev1.Container{
		Name:            "program-0",
		Image:           "registry.example.com/group/program-0:1.2.3",
		ImagePullPolicy: corev1.PullIfNotPresent,
		Ports:           []corev1.ContainerPort{{ContainerPort: 8080, Name: "http", Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: &corev1.Probe{
			FailureThreshold: 3, PeriodSeconds: 10, SuccessThreshold: 1, TimeoutSeconds: 1,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: "/readyz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
			}},
		},
		Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
			},
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
			},
		},
		TerminationMessagePath:   "/dev/termination-log",
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
	for variable := range 4 {
		container.Env = append(container.Env, corev1.EnvVar{
			Name:  fmt.Sprintf("SETTING_%02d", variable),
			Value: fmt.Sprintf("a value that the program 0 of the pod is told on its way %d", variable),
		})
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name(number),
			Namespace:   namespace(number, count),
			Annotations: map[string]string{"example.com/revision": "0"},
			Labels: map[string]string{
				"app": app(number, count), "team": fmt.Sprintf("team-%02d", number%20), "tier": "backend",
			},
		},
		Spec: appsv1.DeploymentSpec{
			ProgressDeadlineSeconds: new(int32(600)),
			Replicas:                new(int32(3)),
			RevisionHistoryLimit:    new(int32(10)),
			Selector:                &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers:                    []corev1.Container{container},
					DNSPolicy:                     corev1.DNSClusterFirst,
					RestartPolicy:                 corev1.RestartPolicyAlways,
					SchedulerName:                 "default-scheduler",
					ServiceAccountName:            "default",
					TerminationGracePeriodSeconds: new(int64(30)),
				},
			},
		},
	}
}
