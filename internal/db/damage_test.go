package db_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestOpenNamesADamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hearth.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := db.Open(t.Context(), db.Config{Path: path})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore a backup") || fault.As(err) != nil {
		t.Errorf("Open() = %v, want the path and no fault that asks to try again", err)
	}
}
