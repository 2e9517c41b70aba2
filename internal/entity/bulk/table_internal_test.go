package bulk

import "testing"

func TestTableRecord(t *testing.T) {
	t.Parallel()
	const body = `{"did":"did:x:1","links":{"self":"/"},"services":[],"metadata":{},"properties":{"a":[]},"statusCode":1}`
	if got, want := string(tableRecord([]byte(body))), `{"did":"did:x:1","properties":{"a":[]}}`; got != want {
		t.Errorf("tableRecord = %s, want %s", got, want)
	}
	if columnRank("did") >= columnRank("properties.a") || columnRank("properties.a") >= columnRank("propertiesX") {
		t.Error("the columns are not in their order")
	}
}
