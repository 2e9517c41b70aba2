package db_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run when a store leaves a goroutine behind. The shared
// PostgreSQL of the tests lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/hearth-dmrv/hearth/internal/db/dbtest.(*Cluster).start.func1"),
		goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"),
	)
}
