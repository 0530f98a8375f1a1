// A controller on client-go in a few lines: a shared informer of config maps, and a typed client that writes. It prints
// what it sees, for a test that runs it on a server: fake/tests/served/clients.rs.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: informer KUBECONFIG")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().ConfigMaps()
	seen := make(chan string, 100)
	tell := func(verb string, object any) {
		config := object.(*core.ConfigMap)
		line := fmt.Sprintf("%s %s %s", verb, config.Name, config.Data["key"])
		fmt.Println(line)
		seen <- line
	}
	handlers, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("updated", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), handlers.HasSynced) {
		return fmt.Errorf("the cache did not sync")
	}
	fmt.Printf("synced %d\n", len(informer.Informer().GetStore().List()))
	wait := func(wanted string) error {
		for {
			select {
			case line := <-seen:
				if line == wanted {
					return nil
				}
			case <-ctx.Done():
				return fmt.Errorf("there was no %q", wanted)
			}
		}
	}

	maps := client.CoreV1().ConfigMaps("default")
	config := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "typed"}, Data: map[string]string{"key": "b"}}
	created, err := maps.Create(ctx, config, meta.CreateOptions{})
	if err != nil {
		return err
	}
	if err := wait("added typed b"); err != nil {
		return err
	}
	created.Data["key"] = "c"
	if _, err := maps.Update(ctx, created, meta.UpdateOptions{}); err != nil {
		return err
	}
	// The test makes this change.
	if err := wait("updated before d"); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "typed", *meta.NewDeleteOptions(0)); err != nil {
		return err
	}
	if err := wait("deleted typed c"); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}
