package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// pgServer is the PostgreSQL that all tests of this binary share.
type pgServer struct {
	url   string // of a database to connect to for CREATE DATABASE
	admin *pgxpool.Pool

	once sync.Once
	tpl  string
	err  error
}

// shared is started by the first test that needs it and ends with the binary.
var shared = sync.OnceValues(func() (*pgServer, error) {
	base := os.Getenv("HEARTH_TEST_POSTGRES_URL")
	if base == "" {
		c, err := Start(context.Background()) // it outlives the test that came first
		if err != nil {
			return nil, err
		}
		base = c.URL("postgres")
	}
	cfg, err := pgxpool.ParseConfig(base)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 4
	admin, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	return &pgServer{url: base, admin: admin}, nil
})

func server(t testing.TB) *pgServer {
	t.Helper()
	s, err := shared()
	if err != nil {
		missing(t, err)
	}
	return s
}

// database creates a database for one test and drops it afterwards.
func (s *pgServer) database(t testing.TB, template string) string {
	t.Helper()
	name := "t_" + strings.ReplaceAll(db.NewID(), "-", "")
	if err := s.create(t.Context(), name, template); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext(t)
		defer cancel()
		if _, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return s.named(name)
}

// create copies a template. Two copies of one template at a time are fine, but
// not while a connection to it is open: then create tries again.
func (s *pgServer) create(ctx context.Context, name, template string) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := s.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template)
		if err == nil || time.Now().After(deadline) || !strings.Contains(err.Error(), "55006") {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// named returns the server's URL with another database.
func (s *pgServer) named(database string) string {
	u, err := url.Parse(s.url)
	if err != nil {
		return s.url
	}
	u.Path = "/" + database
	return u.String()
}

// template returns a migrated database to copy. Its name holds a hash of the
// migrations, so test binaries that share a server share it too.
func (s *pgServer) template(t testing.TB) string {
	t.Helper()
	s.once.Do(func() { s.tpl, s.err = s.makeTemplate(context.WithoutCancel(t.Context())) })
	if s.err != nil {
		t.Fatalf("prepare PostgreSQL for tests: %v", s.err)
	}
	return s.tpl
}

func (s *pgServer) makeTemplate(ctx context.Context) (string, error) {
	sum, err := db.MigrationSum(db.Postgres)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(sum))
	name := "hearth_" + hex.EncodeToString(hash[:8])
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(727274)`); err != nil {
		return "", err
	}
	var there bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, name).Scan(&there)
	if err != nil || there {
		return name, err
	}
	// Built under another name first, so a killed run leaves no half-made template.
	part := name + "_part"
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+part); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+part+" TEMPLATE template0"); err != nil {
		return "", err
	}
	if err := migrate(ctx, db.Config{URL: s.named(part), Instance: 1}); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", part, name)); err != nil {
		return "", err
	}
	return name, nil
}
