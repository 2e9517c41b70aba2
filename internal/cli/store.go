package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/db"
)

func backupCreate(ctx context.Context, c *call) error {
	if len(c.args) > 1 {
		return errUsage{"give one file, or none for the backup folder"}
	}
	file := strings.Join(c.args, "")
	return withStore(ctx, c, func(d *db.DB) error {
		fmt.Fprintln(c.err, "copying and checking …")
		b, err := app.CreateBackup(ctx, d, c.cfg.BackupDir(), file)
		if err != nil {
			return err
		}
		printBackup(c, b)
		fmt.Fprintln(c.err, "server.key is not in it: keep a copy of it elsewhere.")
		return nil
	})
}

func printBackup(c *call, b *db.Backup) {
	fmt.Fprintf(c.out, "file    %s\nbytes   %d\nschema  %d\nsha256  %s\n", b.File, b.Bytes, b.Schema, b.SHA256)
}

func backupVerify(ctx context.Context, c *call) error {
	file, err := c.one("backup file")
	if err != nil {
		return err
	}
	b, err := db.VerifyFile(ctx, file)
	if err != nil {
		return err
	}
	printBackup(c, b)
	fmt.Fprintln(c.out, "The backup is whole.")
	return nil
}

func backupRestore(ctx context.Context, c *call) error {
	file, err := c.one("backup file")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.cfg.Data.Dir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	aside, err := db.Restore(ctx, app.StoreConfig(c.cfg, nil), file)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, "The backup is in place.")
	if _, err := os.Stat(filepath.Join(c.cfg.Data.Dir, "server.key")); err != nil && c.cfg.Auth.ServerKey == "" {
		fmt.Fprintln(c.out, "It starts only with its own server key: put the old server.key into the data folder.")
	}
	if aside != "" {
		fmt.Fprintf(c.out, "What was there before is at %s.\n", aside)
	}
	return nil
}

func backupList(_ context.Context, c *call) error {
	files, err := db.ListBackups(c.cfg.BackupDir())
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintf(c.out, "There are no backups in %s.\n", c.cfg.BackupDir())
		return nil
	}
	tw := c.table("FILE\tBYTES\tTAKEN")
	for _, k := range files {
		fmt.Fprintf(tw, "%s\t%d\t%s\n", k.Path, k.Bytes, day(k.At))
	}
	return tw.Flush()
}

// needStore refuses a data folder without a store: a slip of the pen must not
// make a new one.
func (c *call) needStore() error {
	path := app.StoreConfig(c.cfg, nil).Path
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no store in %s; hearth serve makes one: %w", c.cfg.Data.Dir, err)
	}
	return nil
}

// withStore opens only the store, without migrating it.
func withStore(ctx context.Context, c *call, f func(*db.DB) error) (err error) {
	if err := c.needStore(); err != nil {
		return err
	}
	d, err := db.Open(ctx, app.StoreConfig(c.cfg, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return f(d)
}

func dbCheck(ctx context.Context, c *call) error {
	return withStore(ctx, c, func(d *db.DB) error {
		report, err := d.Check(ctx)
		if err != nil {
			return err
		}
		tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		for _, f := range report.Findings {
			word := "ok"
			if !f.OK {
				word = "WRONG"
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\n", word, f.Name, f.Detail)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		if !report.OK() {
			return errors.New("the store is damaged or not current")
		}
		return nil
	})
}

func dbCompact(ctx context.Context, c *call) error {
	if err := c.needStore(); err != nil {
		return err
	}
	fmt.Fprintln(c.err, "writing the store anew and checking it; this needs as much free space on the disk as the store has rows …")
	before, after, err := db.Compact(ctx, app.StoreConfig(c.cfg, nil))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "before  %d bytes\nafter   %d bytes\n", before, after)
	return nil
}

func dbMigrate(ctx context.Context, c *call) error {
	return withCore(ctx, c, func(core *app.Core) error {
		s, err := core.DB.Schema(ctx)
		if err != nil {
			return err
		}
		owner, err := core.Auth.Bootstrap(ctx, c.cfg.Auth.OwnerKey.Reveal())
		if err != nil {
			return err
		}
		if owner != "" {
			fmt.Fprintf(c.out, "Owner key of the new store, shown once: %s\n", owner)
		}
		fmt.Fprintf(c.out, "The schema is at version %d.\n", s.Version)
		return nil
	})
}
