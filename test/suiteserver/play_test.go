package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
)

// TestRealClient has the real socket.io-client play the scenarios of
// test/clients/socketio.mjs.
func TestRealClient(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	ground := newPlayground()
	mux := http.NewServeMux()
	mux.Handle("/play/", ground)
	mux.HandleFunc("POST /restart", ground.restart)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	clienttest.Run(t, "socketio.mjs", "URL="+web.URL)
}
