package app

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/task"
)

// Once a server requires invocations, what a delegation alone has made no longer
// counts: its tasks pause.
func TestTasksWithoutInvocation(t *testing.T) {
	t.Parallel()
	m := &mind{cfg: &config.Config{}}
	m.cfg.Oracle.UCANRequireInvocation = true
	if err := m.taskStands(t.Context(), task.Owner{DID: "did:key:z", Ends: time.Now().Add(time.Hour)}); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("a task of a delegation alone: %v, want it refused", err)
	}
}
