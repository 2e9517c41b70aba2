package table_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk/table"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	const body = `{"did":"did:x:1","links":{"self":"/"},"services":[],"metadata":{},"properties":{"a":[]},"statusCode":1}`
	if got, want := string(table.Record([]byte(body))), `{"did":"did:x:1","properties":{"a":[]}}`; got != want {
		t.Errorf("Record = %s, want %s", got, want)
	}
	if table.Rank("did") >= table.Rank("properties.a") || table.Rank("properties.a") >= table.Rank("propertiesX") {
		t.Error("the columns are not in their order")
	}
}
