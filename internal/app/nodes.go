package app

import (
	"context"
	"os"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// join makes this process one of the instances on its store.
func (a *App) join(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unnamed"
	}
	return a.DB.Join(ctx, db.Node{Name: host, Version: a.opt.Version})
}
