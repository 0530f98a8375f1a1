// What the API server's own code makes of random writes and patches, recorded for tests/recorded.rs.
module oracle

go 1.26.0

require (
	k8s.io/apimachinery v0.36.4
	k8s.io/kube-openapi v0.0.0-20260317180543-43fb72c5454a
)
