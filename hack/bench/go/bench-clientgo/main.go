// client-go's side of the benchmark. Each piece of work prints one line of JSON.
package main

import (
	"fmt"
	"os"
)

func main() {
	works := map[string]func([]string) error{
		"sync": syncWork, "lister": listerWork, "queue": queueWork, "tracker": trackerWork,
	}
	if len(os.Args) < 2 || works[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench-clientgo sync|lister|queue|tracker [flags]")
		os.Exit(2)
	}
	if err := works[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-clientgo:", err)
		os.Exit(1)
	}
}
