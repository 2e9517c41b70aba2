package engine_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func TestAcceptKey(t *testing.T) {
	t.Parallel()
	// The example of RFC 6455, 1.3.
	if got, want := engine.AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="; got != want {
		t.Errorf("AcceptKey() = %s, want %s", got, want)
	}
}

const goodRequest = "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// accepting serves websockets that echo one message.
func accepting(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, begin, err := engine.Accept(w, r)
		if err != nil {
			if !errors.Is(err, engine.ErrHandshake) {
				t.Errorf("Accept() error = %v, want ErrHandshake", err)
			}
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		defer conn.Close()
		if op, data, err := engine.NewReader(conn, begin, limit).Next(); err == nil {
			_, _ = conn.Write(engine.Frame(op, data))
		}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestAccept(t *testing.T) {
	t.Parallel()
	address := accepting(t)
	for _, tt := range []struct {
		name, old, new string
		status         int
	}{
		{"good", "", "", 101},
		{"other method", "GET", "POST", 400},
		{"HTTP/1.0", "HTTP/1.1", "HTTP/1.0", 400},
		{"no upgrade", "Upgrade: WebSocket\r\n", "", 400},
		{"no connection", "Connection: keep-alive, Upgrade\r\n", "", 400},
		{"other version", "Version: 13", "Version: 8", 400},
		{"no key", "dGhlIHNhbXBsZSBub25jZQ==", "", 400},
		{"short key", "dGhlIHNhbXBsZSBub25jZQ==", "dGhl", 400},
		{"key that is not base64", "dGhlIHNhbXBsZSBub25jZQ==", "!!!!", 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// The message follows in the same write: it must not get lost.
			request := strings.Replace(goodRequest, tt.old, tt.new, 1) + string(part(engine.OpText, false, "early"))
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			buffered := bufio.NewReader(conn)
			answer, err := http.ReadResponse(buffered, nil)
			if err != nil || answer.StatusCode != tt.status {
				t.Fatalf("answer = %v, %v, want %d", answer, err, tt.status)
			}
			if tt.status != 101 {
				return
			}
			if _, data, err := engine.NewClientReader(buffered, nil, limit).Next(); err != nil || string(data) != "early" {
				t.Errorf("echo = %q, %v, want early", data, err)
			}
		})
	}
}
