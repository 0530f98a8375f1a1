// Records what the API server's own code does. Usage: oracle apply|deduced|fields|patch SEED COUNT < schema.json
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type object = map[string]any

var kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Example"}

func main() {
	seed, count := number(os.Args[2]), number(os.Args[3])
	var document struct {
		Components struct{ Schemas map[string]*spec.Schema }
	}
	check(json.NewDecoder(os.Stdin).Decode(&document))
	schemas := document.Components.Schemas
	random := generator{rand.New(rand.NewSource(int64(seed)))}
	cases := []any{}
	for range count {
		switch os.Args[1] {
		case "apply":
			converter, err := managedfields.NewTypeConverter(schemas, false)
			check(err)
			cases = append(cases, applyCase(random, converter, same{dropNulls: true}))
		case "fields":
			cases = append(cases, fieldsCase(random))
		case "deduced":
			cases = append(cases, applyCase(random, managedfields.NewDeducedTypeConverter(), same{}))
		default:
			cases = append(cases, patchCase(random, schemas))
		}
	}
	fmt.Println("[")
	for i, recorded := range cases {
		text, err := json.Marshal(recorded)
		check(err)
		separator := ","
		if i == len(cases)-1 {
			separator = ""
		}
		fmt.Printf("%s%s\n", text, separator)
	}
	fmt.Println("]")
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// copyOf copies a value. Numbers are read as the API server reads them.
func copyOf[T any](value T) T {
	text, err := json.Marshal(value)
	check(err)
	var out T
	check(utiljson.Unmarshal(text, &out))
	return out
}

type writes struct {
	// An object that was there before its fields were tracked, or nothing.
	Start object `json:"start,omitempty"`
	Steps []step `json:"steps"`
}

type step struct {
	Operation   string `json:"operation"`
	Manager     string `json:"manager"`
	Subresource string `json:"subresource,omitempty"`
	Force       bool   `json:"force,omitempty"`
	Object      object `json:"object"`
	Live        object `json:"live,omitempty"`
	Error       string `json:"error,omitempty"`
}

// applyCase writes one object several times, and records it after every write.
func applyCase(random generator, converter managedfields.TypeConverter, same same) writes {
	managers := map[string]*managedfields.FieldManager{}
	for subresource, reset := range map[string]string{"": "status", "status": "spec"} {
		filter := fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(reset)))
		filters := map[fieldpath.APIVersion]fieldpath.Filter{"example.com/v1": filter}
		manager, err := managedfields.NewDefaultCRDFieldManager(converter, same, same, same, kind, kind.GroupVersion(), subresource, filters)
		check(err)
		managers[subresource] = manager
	}
	var live runtime.Object = empty()
	recorded, crowd := writes{}, random.Intn(8) == 0
	if !crowd && random.Intn(6) == 0 {
		recorded.Start = random.object(false, false)
		start := &unstructured.Unstructured{Object: copyOf(recorded.Start)}
		start.SetUID("uid")
		live = start
	}
	steps := 6
	if crowd {
		steps = 13
	}
	for number := range steps {
		next := random.step(live.(*unstructured.Unstructured).Object)
		if crowd {
			next = step{Operation: "Update", Manager: fmt.Sprintf("w%d", random.Intn(40)), Object: labelled(live.(*unstructured.Unstructured).Object, number)}
		}
		written := &unstructured.Unstructured{Object: copyOf(next.Object)}
		var out runtime.Object
		var err error
		if next.Operation == "Apply" {
			out, err = managers[next.Subresource].Apply(live.DeepCopyObject(), written, next.Manager, next.Force)
		} else {
			out, err = managers[next.Subresource].Update(live.DeepCopyObject(), written, next.Manager)
		}
		if err != nil {
			next.Error = err.Error()
		} else {
			// With a uid, the object is known to exist.
			live = out
			out := out.(*unstructured.Unstructured)
			out.SetUID("uid")
			entries := out.GetManagedFields()
			for i := range entries {
				entries[i].Time = nil
			}
			out.SetManagedFields(entries)
			next.Live = copyOf(out.Object)
		}
		recorded.Steps = append(recorded.Steps, next)
	}
	return recorded
}

func empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// same is the conversion between the one version and itself, and the decoding that drops nulls if a
// schema says what is not nullable.
type same struct{ dropNulls bool }

func (same) Convert(in, out, context any) error { return fmt.Errorf("not implemented") }
func (same) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (same) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
func (same) New(schema.GroupVersionKind) (runtime.Object, error) { return empty(), nil }
func (s same) Default(in runtime.Object) {
	if s.dropNulls {
		dropNulls(in.(*unstructured.Unstructured).Object)
	}
}

func dropNulls(value any) {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			if member == nil {
				delete(value, name)
			} else if name != "free" && name != "fieldsV1" {
				dropNulls(member)
			}
		}
	case []any:
		for _, item := range value {
			dropNulls(item)
		}
	}
}

type fields struct {
	Text  string   `json:"text"`
	Paths []string `json:"paths"`
}

// fieldsCase records the format of a set, and its paths.
func fieldsCase(random generator) fields {
	text := func() string {
		alphabet := []rune("ab/.:~<>&\"\\\n\t\b\u007f\u2028é日")
		out := []rune{}
		for range random.Intn(4) {
			out = append(out, alphabet[random.Intn(len(alphabet))])
		}
		return string(out)
	}
	scalar := func() any {
		switch random.Intn(5) {
		case 0:
			return random.Intn(2) == 0
		case 1:
			return int64(random.Intn(2000) - 1000)
		case 2:
			return float64(random.Intn(2000)-1000) / 8
		case 3:
			return []float64{1e21, 1.5e-7, 0.00001, 100, 1234567.5, -2e30}[random.Intn(6)]
		default:
			return text()
		}
	}
	set := fieldpath.NewSet()
	for range random.Intn(6) {
		path := fieldpath.Path{}
		for range random.Intn(4) + 1 {
			switch random.Intn(4) {
			case 0:
				path = append(path, fieldpath.KeyElementByFields("a"+text(), scalar(), "b", scalar()))
			case 1:
				path = append(path, fieldpath.ValueElement(value.NewValueInterface(scalar())))
			case 2:
				path = append(path, fieldpath.IndexElement(random.Intn(12)))
			default:
				path = append(path, fieldpath.FieldNameElement(text()))
			}
		}
		set.Insert(path)
	}
	json, err := set.ToJSON()
	check(err)
	recorded := fields{Text: string(json), Paths: []string{}}
	set.Iterate(func(path fieldpath.Path) { recorded.Paths = append(recorded.Paths, path.String()) })
	return recorded
}

type patched struct {
	Old    object `json:"old"`
	New    object `json:"new"`
	Patch  object `json:"patch"`
	Other  object `json:"other"`
	Merged object `json:"merged,omitempty"`
	Error  string `json:"error,omitempty"`
}

// patchCase records the patch between two objects, and what it makes of a third one.
func patchCase(random generator, schemas map[string]*spec.Schema) patched {
	meta := strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: schemas, Schema: schemas["Example"]}
	c := patched{Old: random.object(true, false), New: random.object(true, false), Other: random.object(true, false)}
	// The Go code sorts the old lists of scalars before it looks at their order. It also replaces
	// objects that have not changed.
	sortScalars(c.Old)
	if oldSpec, newSpec := c.Old["spec"].(object), c.New["spec"].(object); reflect.DeepEqual(oldSpec["whole"], newSpec["whole"]) {
		delete(oldSpec, "whole")
	}
	patch, err := strategicpatch.CreateTwoWayMergeMapPatchUsingLookupPatchMeta(copyOf(c.Old), copyOf(c.New), meta)
	check(err)
	c.Patch = copyOf(object(patch))
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(copyOf(c.Other), copyOf(c.Patch), meta)
	if err != nil {
		c.Error = err.Error()
	} else {
		c.Merged = merged
		dropNulls(c.Merged)
		dropDirectives(c.Merged)
	}
	return c
}

// sortScalars sorts the lists of scalars that are merged.
func sortScalars(value any) {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			if list, ok := member.([]any); ok && (name == "set" || name == "finalizers") {
				sort.Slice(list, func(i, j int) bool { return list[i].(string) < list[j].(string) })
			} else {
				sortScalars(member)
			}
		}
	case []any:
		for _, item := range value {
			sortScalars(item)
		}
	}
}

// dropDirectives removes what decoding would remove as unknown fields.
func dropDirectives(value any) {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			if strings.HasPrefix(name, "$") {
				delete(value, name)
			} else {
				dropDirectives(member)
			}
		}
	case []any:
		for _, item := range value {
			dropDirectives(item)
		}
	}
}

type generator struct{ *rand.Rand }

func (g generator) pick(texts ...string) string { return texts[g.Intn(len(texts))] }

// some returns a few of the texts, in random order.
func (g generator) some(duplicates bool, texts ...string) []any {
	g.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	out := []any{}
	for _, text := range texts[:g.Intn(len(texts)+1)] {
		out = append(out, text)
		if duplicates && g.Float64() < 0.2 {
			out = append(out, text)
		}
	}
	return out
}

// step returns a random write. An update is a new object, or a small change of the live one.
func (g generator) step(live object) step {
	next := step{Operation: "Update", Manager: g.pick("updater", "u2", "a1"), Object: g.object(false, g.Float64() < 0.15)}
	if g.Intn(6) == 0 {
		next.Subresource = "status"
	}
	if g.Float64() < 0.6 {
		next.Operation, next.Manager = "Apply", g.pick("a1", "a2", "a3")
		next.Force = g.Float64() < 0.4
		next.Object = g.object(false, false)
	} else if g.Float64() < 0.6 {
		next.Object = copyOf(live)
		spec, ok := next.Object["spec"].(object)
		if !ok {
			spec = object{}
			next.Object["spec"] = spec
		}
		changes := g.object(false, false)["spec"].(object)
		for _, name := range slices.Sorted(maps.Keys(changes)) {
			if g.Float64() < 0.3 {
				spec[name] = changes[name]
			} else if g.Float64() < 0.2 {
				delete(spec, name)
			}
		}
		if metadata, ok := next.Object["metadata"].(object); ok {
			delete(metadata, "managedFields")
		}
	}
	return next
}

// labelled returns the object with one more label.
func labelled(live object, number int) object {
	out := object{"apiVersion": "example.com/v1", "kind": "Example", "metadata": object{"name": "example"}}
	labels := object{}
	if metadata, ok := live["metadata"].(object); ok && metadata["labels"] != nil {
		labels = copyOf(metadata["labels"].(object))
	}
	labels[fmt.Sprintf("l%d", number)] = "x"
	out["metadata"].(object)["labels"] = labels
	return out
}

// object returns a random object. A patch cannot have two items with one merge key, nor free-form content.
func (g generator) object(patch, duplicates bool) object {
	spec := object{}
	maybe := func(name string, value func() any) {
		if g.Float64() < 0.45 {
			spec[name] = value()
		}
	}
	maybe("number", func() any { return g.Intn(3) })
	maybe("text", func() any { return g.pick("x", "y") })
	maybe("either", func() any {
		if g.Intn(2) == 0 {
			return g.Intn(2)
		}
		return "50%"
	})
	maybe("struct", func() any { return g.structure() })
	maybe("whole", func() any { return g.structure() })
	maybe("retained", func() any { return g.structure() })
	maybe("plain", func() any { return g.some(duplicates, "1", "2", "3") })
	maybe("set", func() any { return g.some(duplicates, "a", "b", "c", "d", "e") })
	maybe("ports", func() any { return g.ports(patch, duplicates) })
	maybe("items", func() any {
		items := []any{}
		for _, name := range g.some(duplicates, "k", "l", "m", "n") {
			item := object{"name": name}
			if g.Intn(2) == 0 {
				item["value"] = g.pick("x", "y")
			}
			if g.Intn(3) == 0 {
				item["struct"] = g.structure()
			}
			if g.Intn(3) == 0 {
				item["ports"] = g.ports(patch, duplicates)
			}
			items = append(items, item)
		}
		return items
	})
	if !patch {
		maybe("free", func() any {
			free := object{}
			for _, name := range g.some(false, "p", "q", "r") {
				switch g.Intn(4) {
				case 0:
					free[name.(string)] = g.Intn(2)
				case 1:
					free[name.(string)] = g.some(false, "1", "2")
				case 2:
					free[name.(string)] = object{g.pick("s", "t"): g.pick("x", "y")}
				default:
					free[name.(string)] = nil
				}
			}
			return free
		})
	}
	metadata := object{"name": "example"}
	if g.Intn(3) == 0 {
		labels := object{}
		for _, name := range g.some(false, "p", "q") {
			labels[name.(string)] = g.pick("x", "y")
		}
		metadata["labels"] = labels
	}
	if g.Intn(3) == 0 {
		metadata["finalizers"] = g.some(false, "f", "g")
	}
	out := object{"apiVersion": "example.com/v1", "kind": "Example", "metadata": metadata, "spec": spec}
	if !patch && g.Intn(4) == 0 {
		out["status"] = g.structure()
	}
	return copyOf(out)
}

func (g generator) structure() any {
	out := object{}
	if g.Intn(2) == 0 {
		out["a"] = g.pick("x", "y")
	}
	if g.Intn(2) == 0 {
		out["b"] = g.Intn(2)
	}
	if g.Intn(3) == 0 {
		out["set"] = g.some(false, "a", "b", "c")
	}
	if g.Intn(3) == 0 {
		entries := object{}
		for _, name := range g.some(false, "p", "q", "r") {
			entries[name.(string)] = g.pick("x", "y")
		}
		out["map"] = entries
	}
	return out
}

func (g generator) ports(patch, duplicates bool) any {
	ports := []any{}
	for _, text := range g.some(duplicates, "1", "2", "3") {
		port := object{"port": number(text.(string))}
		if g.Intn(2) == 0 {
			port["protocol"] = g.pick("TCP", "UDP")
		}
		if g.Intn(2) == 0 {
			port["text"] = g.pick("x", "y")
		}
		ports = append(ports, port)
	}
	if !patch && g.Intn(4) == 0 {
		ports = append(ports, object{"port": 4, "protocol": "TCP"}, object{"port": 4, "protocol": "UDP"})
	}
	return ports
}
