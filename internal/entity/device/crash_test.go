package device_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

const (
	senderEnv = "HEARTH_DEVICE_TEST_STORE" // makes TestSenderProcess send to that store
	perBatch  = 1000
)

// batchOf is the batch number i of the sender.
func batchOf(i int) []device.ReadingDraft {
	return series(time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i*perBatch)*5*time.Minute), perBatch)
}

const crashed = "did:ixo:device/crashed"

// TestSenderProcess is the process that is killed in the test below. It says
// which batches were answered.
func TestSenderProcess(t *testing.T) {
	path := os.Getenv(senderEnv)
	if path == "" {
		t.Skip("not a test: the process that TestKilledInTheMiddle kills")
	}
	d, err := db.Open(t.Context(), db.Config{Path: path, TxLimit: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, d)
	e.register(t, device.Draft{DID: crashed})
	for i := range 10_000 {
		out := e.add(t, crashed, batchOf(i)...)
		fmt.Println("stored", i, out.Accepted)
	}
}

// A server that is killed in the middle has every batch it answered, and each
// batch whole or not at all; sending all again completes it.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "killed.db")
	empty, err := db.Open(t.Context(), db.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(empty.Migrate(t.Context()), empty.Close()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSenderProcess$")
	cmd.Env = append(os.Environ(), senderEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answered := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), fmt.Sprintf("stored %d ", answered)) {
			answered++
		}
		if answered == 7 {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as we wanted
	if answered != 7 {
		t.Fatalf("%d batches were answered, want 7", answered)
	}
	d, err := db.Open(t.Context(), db.Config{Path: path, TxLimit: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e := newEnv(t, d)
	had := e.stored(t)
	if had%perBatch != 0 || had < answered*perBatch {
		t.Errorf("%d readings are left, want whole batches, at least %d", had, answered)
	}
	duplicates := 0
	for i := range had/perBatch + 2 {
		duplicates += e.add(t, crashed, batchOf(i)...).Duplicates
	}
	if duplicates != had || e.stored(t) != had+2*perBatch {
		t.Errorf("sent again: %d duplicates, %d stored, want %d and %d", duplicates, e.stored(t), had, had+2*perBatch)
	}
}
