package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// pgStore is the PostgreSQL of one of two programs that are compared. Each has its
// own, so that its cost can be measured.
type pgStore struct {
	*dbtest.Cluster
	pid   int // of the postmaster
	bases int
}

// startStore starts an empty PostgreSQL.
func startStore(ctx context.Context) (*pgStore, error) {
	c, err := dbtest.Start(ctx)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(c.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return &pgStore{Cluster: c, pid: pid}, nil
}

// fresh creates a database for a program and returns its URL.
func (s *pgStore) fresh(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return "", err
	}
	s.bases++
	name := fmt.Sprint("bench", s.bases)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	return s.URL(name), errors.Join(err, conn.Close(ctx))
}

// cpu returns the CPU that PostgreSQL's processes have used. Connections must stay
// open meanwhile, so that no process is missed.
func (s *pgStore) cpu() (sum time.Duration, err error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
	if err != nil {
		return 0, err
	}
	for pid := range strings.FieldsSeq(string(list)) {
		text, err := os.ReadFile("/proc/" + pid + "/schedstat")
		if err != nil {
			continue // it has ended
		}
		used, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// withStore is a load that also counts the database's CPU.
type withStore struct {
	*load
	store *pgStore
}

func (w withStore) run(ctx context.Context, d time.Duration) (sample, error) {
	before, err := w.store.cpu()
	if err != nil {
		return sample{}, err
	}
	s, err := w.load.run(ctx, d)
	if err != nil {
		return s, err
	}
	after, err := w.store.cpu()
	s.cpu += after - before
	return s, err
}

// counted makes a side count its PostgreSQL too, if it has one.
func (b *bench) counted(open opener) opener {
	if b.store == nil {
		return open
	}
	return func(ctx context.Context) (side, error) {
		s, err := open(ctx)
		if l, ok := s.(*load); err == nil && ok {
			return withStore{l, b.store}, nil
		}
		return s, err
	}
}
