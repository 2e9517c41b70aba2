package engine_test

import (
	"bytes"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func FuzzPolling(f *testing.F) {
	for _, body := range []string{"4hello", "4a\x1ebAQIDBA==\x1e3", "", "b", "b=", "4\xff", "9", "\x1e", "4\x1e", "1"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		once, err := engine.ParsePolling(body)
		if err != nil {
			return
		}
		twice, err := engine.ParsePolling(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q parses to %q, that to %q, %v", body, once, twice, err)
		}
	})
}
