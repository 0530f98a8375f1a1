// Command etcd is the etcd server; its own main lives in a module that cannot be required by version.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
