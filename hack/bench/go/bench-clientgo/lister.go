package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/listers"
	"k8s.io/client-go/tools/cache"
)

const (
	objectsPerApp       = 100
	objectsPerNamespace = 1000

	// warmUp is how long the writer writes before it is measured.
	warmUp = 100 * time.Millisecond
)

func name(number int) string { return fmt.Sprintf("object-%07d", number) }

func namespace(number, count int) string {
	return fmt.Sprintf("namespace-%04d", number%max(1, count/objectsPerNamespace))
}

func app(number, count int) string {
	return fmt.Sprintf("app-%05d", number%max(1, count/objectsPerApp))
}

func network(number, count int, version int64) *Network {
	revision := strconv.FormatInt(version, 10)
	return &Network{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name(number),
			Namespace:       namespace(number, count),
			UID:             types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", number)),
			ResourceVersion: revision,
			Annotations:     map[string]string{"example.com/revision": revision},
			Labels: map[string]string{
				"app": app(number, count), "team": fmt.Sprintf("team-%02d", number%20), "tier": "backend",
			},
		},
		Spec: NetworkSpec{Cidr: "10.0.0.0/24", Gateway: "10.0.0.1"},
	}
}

// lookAt reads something of every object that was found.
func lookAt(found []*Network) int {
	sum := 0
	for _, object := range found {
		sum += len(object.ResourceVersion)
	}
	return sum
}

// listerWork reads a filled store, alone and while a writer changes it at full speed.
func listerWork(args []string) error {
	flags := flag.NewFlagSet("lister", flag.ExitOnError)
	objects := flags.Int("objects", 100_000, "how many objects the store holds")
	milliseconds := flags.Int("milliseconds", 500, "how long each measure takes")
	readerList := flags.String("readers", "1,2,8", "how many readers there are, for each measure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var readers []int
	for _, word := range strings.Split(*readerList, ",") {
		number, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		readers = append(readers, number)
	}

	count := *objects
	indexes := indexers()
	indexes[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexes)
	// What a generated lister is made of.
	lister := listers.New[*Network](indexer, schema.GroupResource{Group: networkVersion.Group, Resource: "networks"})
	names, apps, namespaces := make([]string, count), make([]string, count), make([]string, count)
	selectors := make([]labels.Selector, (count+objectsPerApp-1)/objectsPerApp)
	for number := range count {
		if err := indexer.Add(network(number, count, 1)); err != nil {
			return err
		}
		namespaces[number] = namespace(number, count)
		names[number] = name(number)
		apps[number] = app(number, count)
	}
	for number := range selectors {
		selector, err := labels.Parse("app=" + app(number, count))
		if err != nil {
			return err
		}
		selectors[number] = selector
	}

	questions := []struct {
		name string
		// After how many reads the clock is looked at, so that it is not what is measured.
		atOnce int
		ask    func(turn int) int
	}{
		{"get", 64, func(turn int) int {
			number := turn * 7919 % count
			found, err := listers.NewNamespaced(lister, namespaces[number]).Get(names[number])
			if err != nil {
				return 0
			}
			return len(found.ResourceVersion)
		}},
		{"index", 4, func(turn int) int {
			found, _ := indexer.ByIndex("app", apps[turn*31%count])
			sum := 0
			for _, object := range found {
				sum += len(object.(*Network).ResourceVersion)
			}
			return sum
		}},
		{"namespace", 1, func(turn int) int {
			found, _ := listers.NewNamespaced(lister, namespaces[turn*31%count]).List(labels.Everything())
			return lookAt(found)
		}},
		{"selector", 1, func(turn int) int {
			found, _ := lister.List(selectors[turn*31%len(selectors)])
			return lookAt(found)
		}},
	}
	measure := func(atOnce int, ask func(int) int, readers int) (float64, int64) {
		var turns, found atomic.Int64
		var group sync.WaitGroup
		begin, duration := time.Now(), time.Duration(*milliseconds)*time.Millisecond
		for reader := range readers {
			group.Go(func() {
				turn, answers := 0, 0
				for turn == 0 || time.Since(begin) < duration {
					for range atOnce {
						answers += ask(reader*count/8 + turn)
						turn++
					}
				}
				turns.Add(int64(turn))
				found.Add(int64(answers))
			})
		}
		group.Wait()
		return float64(turns.Load()) / time.Since(begin).Seconds(), found.Load()
	}

	run := newRun(fmt.Sprintf("lister %d", count))
	for _, question := range questions {
		for _, readers := range readers {
			rate, found := measure(question.atOnce, question.ask, readers)
			if found == 0 {
				return fmt.Errorf("%s found nothing", question.name)
			}
			run.Measures[fmt.Sprintf("%s, %d readers, alone /s", question.name, readers)] = rate
		}
	}
	states := [2][]*Network{make([]*Network, count), make([]*Network, count)}
	for number := range count {
		states[0][number], states[1][number] = network(number, count, 2), network(number, count, 3)
	}
	version := int64(10_000_000)
	for _, question := range questions {
		for _, readers := range readers {
			stop, stopped := make(chan struct{}), make(chan error)
			var written atomic.Int64
			go func() {
				for turn := 0; ; turn++ {
					select {
					case <-stop:
						stopped <- nil
						return
					default:
					}
					object := states[turn/count%2][turn%count].DeepCopyObject().(*Network)
					version++
					object.ResourceVersion = strconv.FormatInt(version, 10)
					if err := indexer.Update(object); err != nil {
						stopped <- err
						return
					}
					written.Add(1)
				}
			}()
			time.Sleep(warmUp)
			begin, before := time.Now(), written.Load()
			rate, _ := measure(question.atOnce, question.ask, readers)
			writes := float64(written.Load()-before) / time.Since(begin).Seconds()
			close(stop)
			if err := <-stopped; err != nil {
				return err
			}
			run.Measures[fmt.Sprintf("%s, %d readers, under writer /s", question.name, readers)] = rate
			run.Measures[fmt.Sprintf("writes under %d readers of %s /s", readers, question.name)] = writes
		}
	}
	return run.print()
}
