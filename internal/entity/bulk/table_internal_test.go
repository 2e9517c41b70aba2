package bulk

import "testing"

func TestTableRecord(t *testing.T) {
	t.Parallel()
	const body = `{"did":"did:x:1","links":{"self":"/"},"services":[],"metadata":{},"properties":{"a":[]},"statusCode":1}`
	if got, want := string(tableRecord([]byte(body), true)), `{"did":"did:x:1","properties":{"a":[]}}`; got != want {
		t.Errorf("tableRecord = %s, want %s", got, want)
	}
	for body, want := range map[string]string{
		`{"relationships":[{"id":"r1","role":"project","target":"did:x:p","source":"protocol"},{"id":"r2","role":"near","target":"did:x:a","source":"declared"},{"id":"r3","role":"near","target":"did:x:b","source":"declared"}]}`: `{"relationships":{"near":"did:x:a;did:x:b","project":"did:x:p"}}`,
		`{"relationships":[{"role":"project","target":"did:x:p","since":"2024-01-01T00:00:00Z","source":"protocol"}]}`:                                                                                                              `{"relationships":[{"role":"project","target":"did:x:p","since":"2024-01-01T00:00:00Z","source":"protocol"}]}`,
	} {
		if got := string(tableRecord([]byte(body), true)); got != want {
			t.Errorf("tableRecord = %s, want %s", got, want)
		}
		if got := string(tableRecord([]byte(body), false)); got != body {
			t.Errorf("tableRecord = %s, want it as it is", got)
		}
	}
	if columnRank("did") >= columnRank("properties.a") || columnRank("properties.a") >= columnRank("propertiesX") {
		t.Error("the columns are not in their order")
	}
}
