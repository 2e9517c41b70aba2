package oracle_test

import (
	"testing"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// FuzzMessage holds that a body is taken or refused as the sender's mistake,
// in words that can be sent.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"message":"x","tools":[{"name":"a","description":"d","schema":{}}],"attachments":[{"eventId":"$e","filename":"f","mimetype":"m","size":1e400}]}`))
	f.Add([]byte(`{"message":1,"mcpInvocations":{"a":"b"},"metadata":{"a":[{}]},"agActions":[null]}`))
	f.Add([]byte(`{"message":"\ud800","x":`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := oracle.CheckMessage(raw)
		if err == nil {
			return
		}
		e := fault.As(err)
		if e == nil || e.Kind != fault.Invalid || !utf8.ValidString(e.Message) {
			t.Fatalf("refused with %v", err)
		}
		for _, field := range e.Fields {
			if !utf8.ValidString(field.Detail) || field.Detail == "" || len(field.Detail) > 1000 {
				t.Errorf("detail %q", field.Detail)
			}
		}
	})
}

// FuzzSafeName holds that every name of a page's tool becomes one that model
// servers take.
func FuzzSafeName(f *testing.F) {
	f.Add("read page")
	f.Add("日本語")
	f.Add("a.b/c")
	f.Fuzz(func(t *testing.T, name string) {
		if got := oracle.SafeName(name); name != "" && !tool.ValidName(got) {
			t.Errorf("SafeName(%q) = %q", name, got)
		}
	})
}
