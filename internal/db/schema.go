package db

import (
	"context"
	"fmt"
	"strings"
)

// Schema compares the store with the migrations of this program.
type Schema struct {
	Version int      // newest migration in the store, -1 without any
	Newest  int      // newest migration this program knows
	Pending []string // migrations still to be applied
	Waiting []string // contracts that wait until no older instance beats
}

// Schema returns which migrations the store has. Its error is that of Migrate: a
// store contracted by a newer program, or a changed migration.
func (d *DB) Schema(ctx context.Context) (Schema, error) {
	all, err := loadMigrations(d.cfg.Migrations, d.dialect)
	if err != nil {
		return Schema{}, err
	}
	have, err := readApplied(d.Query(ctx, selectMigrations))
	if err != nil && !noTable(err) {
		return Schema{}, fmt.Errorf("read schema version: %w", err)
	}
	return compareSchema(all, have)
}

func compareSchema(all []migration, have []applied) (Schema, error) {
	s := Schema{Version: -1, Newest: newest(all)}
	for _, h := range have {
		s.Version = max(s.Version, h.version)
	}
	todo, err := pending(all, have)
	for _, m := range todo {
		if contracts(m.name) {
			s.Waiting = append(s.Waiting, m.String())
		} else {
			s.Pending = append(s.Pending, m.String())
		}
	}
	return s, err
}

// noTable is true when a statement named a table the store does not have.
func noTable(err error) bool {
	return pgCode(err) == "42P01" || liteCode(err) != 0 && strings.Contains(err.Error(), "no such table")
}
