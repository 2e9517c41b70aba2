package app_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// TestHealthOfAStuckWriter: a store that answers reads and takes no writes is not
// well, and the process that says so is.
func TestHealthOfAStuckWriter(t *testing.T) {
	t.Parallel()
	b := app.Build(t, owner, nil)
	health := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		b.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/health", nil))
		return w
	}
	// Somebody else holds the file, as a backup program does that went wrong.
	other, err := db.Open(t.Context(), db.Config{Path: filepath.Join(b.Dir(), "hearth.db"), TxLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- other.InTx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE workspaces SET name = name`)
			close(inside)
			<-leave
			return err
		})
	}()
	<-inside
	w := health()
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, `"status":"degraded"`) || !strings.Contains(body, `"database":"disconnected"`) {
		t.Errorf("with a stuck writer = %d %s, want 200, degraded and disconnected", w.Code, body)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
