package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// places gives a function that makes the n-th store, and one that ends what
// all stores share.
func places(ctx context.Context, c config) (made func(n int) (place, error), stop func(), err error) {
	switch {
	case c.power:
		return func(n int) (place, error) { return newPower(filepath.Join(c.dir, fmt.Sprintf("mount-%d", n)), c.say) }, func() {}, nil
	case !c.postgres:
		return func(n int) (place, error) { return newFolder(c.dir, n) }, func() {}, nil
	}
	cluster, err := dbtest.Start(ctx)
	if err != nil {
		return nil, nil, err
	}
	made = func(n int) (place, error) {
		f, err := newFolder(c.dir, n)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("crash_%d", n)
		conn, err := pgx.Connect(ctx, cluster.URL("postgres"))
		if err != nil {
			return nil, err
		}
		_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
		f.url = cluster.URL(name)
		return f, errors.Join(err, conn.Close(ctx))
	}
	return made, func() {
		if err := cluster.Stop(); err != nil {
			c.say("stop PostgreSQL: %v", err)
		}
	}, nil
}

// folder is a plain data folder: a killed process leaves its files to the
// next one.
type folder struct {
	path string
	url  string // of the PostgreSQL database, when there is one
}

func newFolder(dir string, n int) (*folder, error) {
	f := &folder{path: filepath.Join(dir, fmt.Sprintf("data-%d", n))}
	return f, os.Mkdir(f.path, 0o700)
}

func (f *folder) open() (string, error) { return f.path, nil }

func (f *folder) crashed(*rand.Rand) error { return nil }

func (f *folder) databaseURL() string { return f.url }

func (f *folder) close() error { return os.RemoveAll(f.path) }

// export copies the database and its log. The -shm file is an index that
// SQLite makes anew.
func (f *folder) export(to string) error {
	for _, name := range []string{"hearth.db", "hearth.db-wal"} {
		err := copyFile(filepath.Join(f.path, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
