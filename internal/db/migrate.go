package db

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/order"
)

//go:generate go test . -count=1 -run ^TestNewStores$ -update

//go:embed migrations
var files embed.FS

// embedded is the set of migrations this binary was built with.
func embedded() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return files // cannot happen: the folder is embedded above
	}
	return sub
}

// migration is one file of one dialect.
type migration struct {
	version  int
	name     string
	sql      string
	checksum string
}

// contractPrefix is the prefix of migrations that remove what earlier programs may
// still use. All others only add: a program that does not know them continues to
// work with their schema.
const contractPrefix = "contract_"

func contracts(name string) bool { return strings.HasPrefix(name, contractPrefix) }

func newest(all []migration) int {
	if len(all) == 0 {
		return -1
	}
	return all[len(all)-1].version // they are ordered
}

func (m migration) String() string { return fmt.Sprintf("%04d_%s", m.version, m.name) }

var migrationName = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.sql$`)

// loadMigrations reads the files of one dialect, ordered by version.
func loadMigrations(fsys fs.FS, d Dialect) ([]migration, error) {
	entries, err := fs.ReadDir(fsys, string(d))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []migration
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		part := migrationName.FindStringSubmatch(e.Name())
		if part == nil {
			return nil, fmt.Errorf("migration %s/%s: the name must look like 0007_name.sql", d, e.Name())
		}
		text, err := fs.ReadFile(fsys, path.Join(string(d), e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		version, _ := strconv.Atoi(part[1])
		// Line ends may differ after a checkout on Windows.
		sql := strings.ReplaceAll(string(text), "\r\n", "\n")
		sum := sha256.Sum256([]byte(sql))
		all = append(all, migration{version, part[2], sql, hex.EncodeToString(sum[:])})
	}
	order.Sort(all, func(a, b migration) int { return a.version - b.version })
	for i := 1; i < len(all); i++ {
		if all[i].version == all[i-1].version {
			return nil, fmt.Errorf("migrations %s and %s have the same number", all[i-1], all[i])
		}
	}
	return all, nil
}

// Migrate brings the schema up to date. Each file is one transaction, so a killed
// run resumes where it stopped. It refuses a store that a newer program has
// contracted, and one whose migrations differ from those in this binary. On
// PostgreSQL a contract waits until no instance runs an older program.
func (d *DB) Migrate(ctx context.Context) error {
	all, err := loadMigrations(d.cfg.Migrations, d.dialect)
	if err != nil {
		return err
	}
	if err := d.e.migrate(ctx, all); err != nil {
		return fmt.Errorf("migrate store: %w", err)
	}
	return nil
}

// tellMigrated logs a summary in one line, and each step at debug level.
func tellMigrated(log *slog.Logger, done []migration) {
	if n := len(done); n > 0 {
		log.Info("store migrated", "count", n, "from", done[0].String(), "to", done[n-1].String())
	}
}

// applied is a row of schema_migrations.
type applied struct {
	version  int
	name     string
	checksum string
}

// pending compares what the store has with what we have.
func pending(all []migration, have []applied) ([]migration, error) {
	known := make(map[int]migration, len(all))
	for _, m := range all {
		known[m.version] = m
	}
	last := newest(all)
	done := make(map[int]bool, len(have))
	for _, h := range have {
		m, ok := known[h.version]
		switch {
		case !ok && h.version > last && contracts(h.name):
			return nil, &NewerError{Store: h.version, Binary: last}
		case !ok && h.version > last:
			continue // it only added something
		case !ok:
			return nil, fmt.Errorf("the store has migration %04d_%s, which this program does not know", h.version, h.name)
		case m.checksum != h.checksum:
			return nil, fmt.Errorf("migration %s was changed after it was applied to the store", m)
		}
		done[h.version] = true
	}
	var todo []migration
	for _, m := range all {
		if !done[m.version] {
			todo = append(todo, m)
		}
	}
	return todo, nil
}

// NewerError means that a newer program has removed what this one uses.
type NewerError struct {
	Store  int // the migration that did
	Binary int // newest migration this program knows
}

// Error names both versions.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the store was contracted by migration %04d, this program knows migrations up to %04d: run a newer program", e.Store, e.Binary)
}

const createMigrations = `CREATE TABLE IF NOT EXISTS schema_migrations (
	version BIGINT PRIMARY KEY,
	name TEXT NOT NULL,
	checksum TEXT NOT NULL,
	applied_at BIGINT NOT NULL
)`

const (
	selectMigrations = `SELECT version, name, checksum FROM schema_migrations ORDER BY version`
	insertMigration  = `INSERT INTO schema_migrations(version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`
)

// readApplied reads all rows of schema_migrations and closes them.
func readApplied(rows Rows, err error) ([]applied, error) {
	return Collect(rows, err, "list migrations", func(a *applied, row Row) error {
		return row.Scan(&a.version, &a.name, &a.checksum)
	})
}

// MigrationSum identifies the embedded migrations of a dialect. Two programs
// with equal sums make equal schemas.
func MigrationSum(d Dialect) (string, error) {
	all, err := loadMigrations(embedded(), d)
	if err != nil {
		return "", err
	}
	return sumOf(all), nil
}

// sumOf identifies a list of migrations.
func sumOf(all []migration) string {
	h := sha256.New()
	for _, m := range all {
		fmt.Fprintln(h, m, m.checksum)
	}
	return hex.EncodeToString(h.Sum(nil))
}
