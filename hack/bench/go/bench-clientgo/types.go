package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var networkVersion = schema.GroupVersion{Group: "samplecrd.k8s.io", Version: "v1"}

// Network is the same custom resource as on the other sides.
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NetworkSpec `json:"spec"`
}

// NetworkSpec is what a user asks of a network.
type NetworkSpec struct {
	Cidr    string `json:"cidr"`
	Gateway string `json:"gateway"`
}

// NetworkList is a list of Network resources.
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Network `json:"items"`
}

// DeepCopyObject is what deepcopy-gen writes.
func (in *Network) DeepCopyObject() runtime.Object {
	out := &Network{TypeMeta: in.TypeMeta, Spec: in.Spec}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject is what deepcopy-gen writes.
func (in *NetworkList) DeepCopyObject() runtime.Object {
	out := &NetworkList{TypeMeta: in.TypeMeta, Items: make([]Network, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Network)
	}
	return out
}

func addNetworks(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(networkVersion, &Network{}, &NetworkList{})
	metav1.AddToGroupVersion(scheme, networkVersion)
	return nil
}
