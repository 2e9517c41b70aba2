package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Backup describes a backup file.
type Backup struct {
	File    string
	Dialect Dialect
	Bytes   int64
	Pages   int64  // SQLite only
	Schema  int    // newest migration in it, -1 when unknown
	SHA256  string // also in the file beside it, named .sha256
	At      time.Time
}

// Backup writes a consistent copy of the running store to a new file, checks
// it, and only then gives the file its name. A file with its checksum is next
// to it. PostgreSQL needs pg_dump.
func (d *DB) Backup(ctx context.Context, file string) (*Backup, error) {
	start := time.Now().UTC()
	if _, err := os.Lstat(file); err == nil {
		return nil, fmt.Errorf("back up: %s already exists", file)
	}
	part, err := partFor(file)
	if err != nil {
		return nil, fmt.Errorf("back up: %w", err)
	}
	b, err := d.backupTo(ctx, part)
	if err != nil {
		os.Remove(part)
		return nil, fmt.Errorf("back up to %s: %w", file, err)
	}
	b.File, b.At = file, start
	// The checksum first: a backup under its final name always has one.
	if err := writeSum(file, b.SHA256); err != nil {
		os.Remove(part)
		return nil, fmt.Errorf("back up: %w", err)
	}
	if err := publish(part, file); err != nil {
		os.Remove(part)
		return nil, fmt.Errorf("back up: %w", err)
	}
	return b, nil
}

func (d *DB) backupTo(ctx context.Context, part string) (*Backup, error) {
	if e, ok := d.e.(*pg); ok {
		if err := e.still(ctx, func() error { return pgDump(ctx, d.cfg.URL, part) }); err != nil {
			return nil, err
		}
	} else {
		c, err := openLiteConn(d.cfg.Path, busyPragma(d.cfg.Busy))
		if err != nil {
			return nil, err
		}
		err = c.runUntil(ctx, "VACUUM INTO "+quote(part))
		if err := errors.Join(err, c.close()); err != nil {
			return nil, err
		}
	}
	return VerifyFile(ctx, part)
}

// stampForm is the time in the name of a backup.
const stampForm = "20060102T150405Z"

// BackupName is a name for a backup taken now; names sort by time.
func (d *DB) BackupName(now time.Time) string {
	ext := ".db"
	if d.dialect == Postgres {
		ext = ".pgdump"
	}
	return "hearth-" + now.UTC().Format(stampForm) + ext
}

// isBackupName reports whether BackupName makes such names.
func isBackupName(name string) bool {
	stamp, ok := strings.CutPrefix(name, "hearth-")
	for _, ext := range []string{".db", ".pgdump"} {
		if stamp, found := strings.CutSuffix(stamp, ext); ok && found {
			_, err := time.Parse(stampForm, stamp)
			return err == nil
		}
	}
	return false
}

// A Kept backup lies in the folder of the backups.
type Kept struct {
	Path       string
	Bytes      int64
	At         time.Time // when it was written
	VerifiedAt time.Time // when MarkVerified was last called for a good backup
}

// verifiedMark ends the name of the file that says when a backup was found whole.
const verifiedMark = ".verified"

// ListBackups returns the files in a folder whose names were made by
// BackupName, oldest first. Other files, checksums among them, are left out. A
// missing folder has none.
func ListBackups(dir string) ([]Kept, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var files []Kept
	for _, e := range entries {
		if !e.Type().IsRegular() || !isBackupName(e.Name()) {
			continue
		}
		k := Kept{Path: filepath.Join(dir, e.Name())}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		} else if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		k.Bytes, k.At = info.Size(), info.ModTime()
		if mark, err := os.Stat(k.Path + verifiedMark); err == nil {
			k.VerifiedAt = mark.ModTime()
		}
		files = append(files, k)
	}
	return files, nil
}

// PruneBackups removes all but the newest keep backups that ListBackups finds
// in a folder, and returns what it removed.
func PruneBackups(dir string, keep int) ([]string, error) {
	files, err := ListBackups(dir)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, k := range files[:max(len(files)-max(keep, 0), 0)] {
		if err := os.Remove(k.Path); err != nil {
			return removed, fmt.Errorf("prune backups: %w", err)
		}
		os.Remove(k.Path + ".sha256")
		os.Remove(k.Path + verifiedMark)
		removed = append(removed, k.Path)
	}
	return removed, nil
}

// MarkVerified records next to a backup that it was found good now, or removes
// such a record.
func MarkVerified(file string, whole bool) error {
	if !whole {
		return os.RemoveAll(file + verifiedMark)
	}
	if err := os.WriteFile(file+verifiedMark, nil, 0o600); err != nil {
		return err
	}
	now := time.Now() // the mark of an earlier look is empty too, and would keep its time
	return os.Chtimes(file+verifiedMark, now, now)
}

// writeSum writes the checksum file in the form of sha256sum.
func writeSum(file, sum string) error {
	part := file + ".sha256.part"
	if err := os.WriteFile(part, []byte(sum+"  "+filepath.Base(file)+"\n"), 0o600); err != nil {
		return err
	}
	return publish(part, file+".sha256")
}

// readSum reads it; "" when there is none.
func readSum(file string) (string, error) {
	text, err := os.ReadFile(file + ".sha256")
	if os.IsNotExist(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	sum, _, _ := strings.Cut(string(text), " ")
	return strings.TrimSpace(sum), nil
}

func sumFile(file string) (string, int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
