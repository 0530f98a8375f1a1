// Command protobuf prints how Kubernetes' own kinds are written in protobuf: fake/src/protobuf/messages.txt.
//
//	cd hack/testenv && go run ./protobuf ../../fake/src/kinds/builtin.txt > ../../fake/src/protobuf/messages.txt
//
// A line is either a kind and its message, `apps/v1 Deployment = apps/v1.Deployment`, or a message and its fields:
// number, JSON name and type. A type is s (text), b (bytes), i (whole number), t (truth value), d (64 bits of a
// floating point number), or the name of a message; [] and {} before it are a list and a map with texts as keys. A `?`
// after it says that zero is a value of its own; a `~` in place of the name, that the fields belong to the message
// around it.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var messages = map[string]string{}

func main() {
	for _, add := range []error{apiextensions.AddToScheme(scheme.Scheme), apiregistration.AddToScheme(scheme.Scheme)} {
		if add != nil {
			panic(add)
		}
	}
	kinds, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	wanted := map[schema.GroupVersionKind]bool{{Version: "v1", Kind: "DeleteOptions"}: true}
	add := func(apiVersion, kind string) {
		version, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			panic(err)
		}
		wanted[version.WithKind(kind)] = true
	}
	for line := range strings.Lines(string(kinds)) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		add(words[0], words[1])
		for _, subresource := range strings.Split(words[len(words)-1], ";") {
			if _, body, found := strings.Cut(subresource, "="); found {
				body, _, _ = strings.Cut(body, ":")
				at := strings.LastIndex(body, "/")
				add(body[:at], body[at+1:])
			}
		}
	}
	lines := []string{}
	for kind := range wanted {
		object, err := scheme.Scheme.New(kind)
		if err != nil {
			panic(err)
		}
		name := message(reflect.TypeOf(object).Elem())
		lines = append(lines, fmt.Sprintf("%s %s = %s", kind.GroupVersion(), kind.Kind, name))
	}
	for name, fields := range messages {
		lines = append(lines, name+fields)
	}
	sort.Strings(lines)
	fmt.Println("# Kubernetes 1.36, printed by hack/testenv/protobuf")
	fmt.Println(strings.Join(lines, "\n"))
}

// special are the types whose JSON is not that of their fields.
var special = map[string]bool{
	"meta/v1.Time": true, "meta/v1.MicroTime": true, "meta/v1.Duration": true, "meta/v1.FieldsV1": true,
	"resource.Quantity": true, "intstr.IntOrString": true, "runtime.RawExtension": true,
	"apiextensions/v1.JSON": true, "apiextensions/v1.JSONSchemaPropsOrBool": true,
	"apiextensions/v1.JSONSchemaPropsOrArray": true, "apiextensions/v1.JSONSchemaPropsOrStringArray": true,
}

func message(typ reflect.Type) string {
	parts := strings.Split(typ.PkgPath(), "/")
	name := parts[len(parts)-1] + "." + typ.Name()
	if strings.HasPrefix(parts[len(parts)-1], "v") && len(parts) > 1 {
		name = parts[len(parts)-2] + "/" + name
	}
	if _, known := messages[name]; known || special[name] {
		// The schemas in the special ones are messages of their own.
		if strings.Contains(name, "JSONSchemaPropsOr") {
			message(reflect.TypeFor[apiextensions.JSONSchemaProps]())
		}
		return name
	}
	messages[name] = ""
	fields := ""
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		json := strings.Split(field.Tag.Get("json"), ",")
		key, zero := json[0], ""
		if key == "" {
			key = "~"
		}
		kind := field.Type.Kind()
		omitted := len(json) > 1 && (json[1] == "omitempty" || json[1] == "omitzero")
		if kind == reflect.Pointer || !omitted {
			zero = "?"
		}
		fields += fmt.Sprintf(" %s:%s:%s%s", tag[1], key, describe(field.Type, tag[0]), zero)
	}
	messages[name] = fields
	return name
}

func describe(typ reflect.Type, wire string) string {
	switch typ.Kind() {
	case reflect.Pointer:
		return describe(typ.Elem(), wire)
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "t"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return "i"
	case reflect.Float64:
		return "d"
	case reflect.Struct:
		return message(typ)
	case reflect.Map:
		return "{}" + describe(typ.Elem(), "")
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return "b"
		}
		// A list with a name, such as ExtraValue, is a message with a list.
		if typ.Name() != "" {
			name := strings.ReplaceAll(typ.String(), "*", "")
			messages[name] = " 1:=:[]" + describe(typ.Elem(), "")
			return name
		}
		return "[]" + describe(typ.Elem(), "")
	}
	panic("no protobuf for " + typ.String())
}
