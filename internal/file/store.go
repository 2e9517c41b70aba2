package file

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Kinds of files.
const (
	Upload = "upload" // an import that is still arriving
	Import = "import"
	Export = "export"
	Kept   = "kept" // of a dry run that is over: it may be imported
)

// File describes a stored file.
type File struct {
	ID        string
	Workspace string
	Kind      string
	Job       string // "" while it is uploaded
	Bytes     int64
	SHA256    string // hexadecimal; "" until all is there
	At        int64  // ms: when an upload began, or an export was written last
}

const (
	countFilesText   = `SELECT count(*) FROM (SELECT 1 FROM transfer_files WHERE ws = $1 LIMIT $2) AS n`
	insertFileText   = `INSERT INTO transfer_files(id, ws, kind, job, bytes, sha256, at) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	updateFileText   = `UPDATE transfer_files SET kind = $2, job = $3, bytes = $4, sha256 = $5, at = $6 WHERE id = $1 AND kind <> 'condemned'`
	findFileText     = `SELECT ws, kind, job, bytes, sha256, at FROM transfer_files WHERE id = $1 AND kind <> 'condemned'`
	exportFilesText  = `SELECT id, job, bytes, sha256, at FROM transfer_files WHERE ws = $1 AND kind = 'export' LIMIT $2`
	oldestFileText   = `SELECT id FROM transfer_files WHERE kind = $1 AND at < $2 ORDER BY at, id LIMIT 1`
	deleteFileText   = `DELETE FROM transfer_files WHERE id = $1`
	insertPieceText  = `INSERT INTO transfer_pieces(file, n, data) VALUES ($1, $2, $3)`
	readPieceText    = `SELECT data FROM transfer_pieces WHERE file = $1 AND n = $2`
	pieceTailsText   = `SELECT substr(data, length(data) - 3) FROM transfer_pieces WHERE file = $1 ORDER BY n`
	deletePiecesText = `DELETE FROM transfer_pieces WHERE file = $1 AND n IN (SELECT n FROM transfer_pieces WHERE file = $1 ORDER BY n LIMIT $2)`
)

// Count counts the files of a workspace, up to most.
func Count(ctx context.Context, q db.Querier, ws string, most int) (int, error) {
	var n int
	err := q.QueryRow(ctx, countFilesText, ws, most).Scan(&n)
	return n, db.Wrap("count files", err)
}

// Exports reads the records of files that a workspace has exported, at most so
// many.
func Exports(ctx context.Context, q db.Querier, ws string, most int) ([]File, error) {
	rows, err := q.Query(ctx, exportFilesText, ws, most)
	return db.Collect(rows, err, "list files", func(f *File, row db.Row) error {
		f.Workspace, f.Kind = ws, Export
		return row.Scan(&f.ID, &f.Job, &f.Bytes, &f.SHA256, &f.At)
	})
}

// Insert stores the record of a new file.
func Insert(ctx context.Context, tx *db.Tx, f *File) error {
	_, err := tx.Exec(ctx, insertFileText, f.ID, f.Workspace, f.Kind, f.Job, f.Bytes, f.SHA256, f.At)
	return db.Wrap("insert file", err)
}

// ErrGone means that a file was removed while it was written.
var ErrGone = errors.New("the file is gone")

// Update updates the record of a file. The error is ErrGone when it was removed
// meanwhile.
func Update(ctx context.Context, tx *db.Tx, f *File) error {
	n, err := tx.Exec(ctx, updateFileText, f.ID, f.Kind, f.Job, f.Bytes, f.SHA256, f.At)
	if err == nil && n == 0 {
		err = ErrGone
	}
	return db.Wrap("update file", err)
}

// Find reads the record of a file; nil without one.
func Find(ctx context.Context, q db.Querier, id string) (*File, error) {
	f := &File{ID: id}
	err := q.QueryRow(ctx, findFileText, id).Scan(&f.Workspace, &f.Kind, &f.Job, &f.Bytes, &f.SHA256, &f.At)
	return db.Found(f, err, "find file")
}

// Oldest is the file of a kind that has waited longest, "" when none is older
// than before.
func Oldest(ctx context.Context, q db.Querier, kind string, before int64) (string, error) {
	var id string
	err := q.QueryRow(ctx, oldestFileText, kind, before).Scan(&id)
	return db.Found(id, err, "find old file")
}

// AddPiece stores a compressed piece of a file.
func AddPiece(ctx context.Context, tx *db.Tx, id string, n int64, data []byte) error {
	_, err := tx.Exec(ctx, insertPieceText, id, n, data)
	return db.Wrap("insert piece", err)
}

// readPiece reads a stored piece; nil without one.
func readPiece(ctx context.Context, q db.Querier, id string, n int64) ([]byte, error) {
	var data []byte
	err := q.QueryRow(ctx, readPieceText, id, n).Scan(&data)
	return db.Found(data, err, "read piece")
}

// pieceSizes are how large the pieces of a file are when they are unpacked: the
// last four bytes of each say so.
func pieceSizes(ctx context.Context, q db.Querier, id string) ([]int64, error) {
	rows, err := q.Query(ctx, pieceTailsText, id)
	return db.Collect(rows, err, "measure pieces", func(n *int64, row db.Row) error {
		var tail []byte
		if err := row.Scan(&tail); err != nil {
			return err
		}
		if len(tail) == 4 {
			*n = int64(binary.LittleEndian.Uint32(tail))
		}
		return nil
	})
}

// Shrink removes at most limit pieces of a file and returns how many.
func Shrink(ctx context.Context, q db.Querier, id string, limit int) (int, error) {
	n, err := q.Exec(ctx, deletePiecesText, id, limit)
	return int(n), db.Wrap("remove pieces", err)
}

// remove removes the record of a file and returns how many there were.
func remove(ctx context.Context, q db.Querier, id string) (int, error) {
	n, err := q.Exec(ctx, deleteFileText, id)
	return int(n), db.Wrap("remove file", err)
}
