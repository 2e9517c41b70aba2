package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	// nodeMark begins the name of the file by which a server shows that it has a folder;
	// its id follows.
	nodeMark = ".hearth-node-"
	// markEvery is how often the file is looked after.
	markEvery = 30 * time.Second
	// markWait is how long a backup waits for the files of servers that have just come.
	markWait = 5 * time.Second
)

// markShared keeps a file in the folder of the backups until ctx ends, where backups are
// made by time and there may be other servers.
func markShared(ctx context.Context, a *App) {
	if !a.cfg.Postgres() || a.cfg.Backup.Every == 0 {
		return
	}
	file := filepath.Join(a.cfg.BackupDir(), nodeMark+a.DB.Self().ID)
	failed := false
	for {
		err := os.MkdirAll(a.cfg.BackupDir(), 0o700)
		if err == nil {
			err = os.WriteFile(file, nil, 0o600)
		}
		if err != nil && !failed {
			a.log.WarnContext(ctx, "folder of backups not marked", "err", err.Error())
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			os.Remove(file)
			return
		case <-time.After(markEvery):
		}
	}
}

// sharesBackups reports whether all live servers share the folder of the backups. If not
// there is one warning, and no further one until the folder was shared again: a job that
// fails each time would hide others.
func sharesBackups(ctx context.Context, a *App, wait time.Duration) (bool, error) {
	err := shared(ctx, a.DB, a.cfg.BackupDir(), wait)
	if fault.CodeOf(err) != codeNotShared {
		if err == nil {
			a.unshared.Store(false)
		}
		return err == nil, err
	}
	if !a.unshared.Swap(true) {
		a.log.WarnContext(ctx, "no backup by time", "err", err.Error())
	}
	return false, nil
}

// codeNotShared is said of a folder that some server does not have.
const codeNotShared = "BACKUP_DIR_NOT_SHARED"

// shared refuses a folder that not all live servers share: a backup would be where
// nobody looks for it, and old ones would stay where nobody removes them.
func shared(ctx context.Context, d *db.DB, dir string, wait time.Duration) error {
	for end := time.Now().Add(wait); ; {
		missing, err := unmarked(ctx, d, dir)
		if err != nil || len(missing) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fault.New(fault.Conflict, codeNotShared, "No backup is made: HEARTH_BACKUP_DIR must be a folder that all servers share. It does not have the mark of "+
				strings.Join(missing, ", ")+".")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// unmarked names the live servers without a file in a folder, and removes the files of
// servers that no longer exist.
func unmarked(ctx context.Context, d *db.DB, dir string) (missing []string, err error) {
	all, err := d.Instances(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, one := range all {
		known[nodeMark+one.ID] = true
		if !one.Live() {
			continue
		}
		_, err := os.Stat(filepath.Join(dir, nodeMark+one.ID))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, one.Name)
		case err != nil:
			return nil, err
		}
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return missing, nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), nodeMark) && !known[f.Name()] {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
	return missing, err
}
