// A candidate for a Lease with client-go, in the form of its example examples/leader-election. It stays alive when it
// loses the Lease, and becomes a candidate again.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		klog.Fatal(err)
	}
	namespace, name, _ := strings.Cut(os.Getenv("LEASE"), "/")
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: name, Namespace: namespace},
		Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: uuid.New().String()},
	}
	for term := 1; ; term++ {
		leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
			Lock:            lock,
			ReleaseOnCancel: true,
			LeaseDuration:   15 * time.Second,
			RenewDeadline:   10 * time.Second,
			RetryPeriod:     2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { write(ctx, term) },
				OnStoppedLeading: func() { klog.Info("no longer leading") },
			},
		})
	}
}

// write sends a write every 100 ms until the leadership ends.
func write(ctx context.Context, term int) {
	for sequence := 0; ctx.Err() == nil; sequence++ {
		target := fmt.Sprintf("%s/%d/%d", os.Getenv("WRITE_TO"), term, sequence)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
		if err != nil {
			klog.Fatal(err)
		}
		if response, err := http.DefaultClient.Do(request); err != nil {
			klog.Error(err)
		} else {
			response.Body.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
