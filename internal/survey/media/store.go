package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	selectFile = `SELECT file, media_type, bytes, sender, at, loose FROM attachments WHERE ws = $1 AND sha256 = $2`
	// A statement has a fixed number of places; those that are left hold no hash.
	selectFiles = `SELECT sha256, file, media_type, bytes, sender, at, loose FROM attachments WHERE ws = $1 AND sha256 IN (
		$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
		$27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51,
		$52, $53, $54, $55, $56, $57, $58, $59, $60, $61, $62, $63, $64, $65, $66, $67, $68, $69, $70, $71, $72, $73, $74, $75, $76,
		$77, $78, $79, $80, $81, $82, $83, $84, $85, $86, $87, $88, $89, $90, $91, $92, $93, $94, $95, $96, $97, $98, $99, $100, $101)`
	chunk      = 100 // places of selectFiles
	insertFile = `INSERT INTO attachments (ws, sha256, file, media_type, bytes, sender, at, loose) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (ws, sha256) DO NOTHING`
	deleteFile    = `DELETE FROM attachments WHERE ws = $1 AND sha256 = $2 RETURNING file`
	countLoose    = `SELECT count(*) FROM (SELECT 1 FROM attachments WHERE ws = $1 AND loose > 0 LIMIT $2) AS n`
	selectLoosest = `SELECT ws, sha256 FROM attachments WHERE loose > 0 AND loose < $1 ORDER BY loose LIMIT 1`
	updateTied    = `UPDATE attachments SET loose = 0 WHERE ws = $1 AND sha256 = $2 AND loose > 0`

	countArriving  = `SELECT count(*) FROM (SELECT 1 FROM attachment_files WHERE ws = $1 AND at > 0 LIMIT $2) AS n`
	insertArriving = `INSERT INTO attachment_files (nid, ws, at) VALUES ($1, $2, $3)`
	deleteArriving = `DELETE FROM attachment_files WHERE nid = $1`
	selectOldest   = `SELECT nid FROM attachment_files WHERE at < $1 ORDER BY at, nid LIMIT 1`
	selectDropped  = `SELECT nid FROM attachment_files WHERE ws = $1 AND at = 0 LIMIT $2`

	insertPiece  = `INSERT INTO attachment_pieces (file, n, data) VALUES ($1, $2, $3)`
	selectPiece  = `SELECT data FROM attachment_pieces WHERE file = $1 AND n = $2`
	deletePieces = `DELETE FROM attachment_pieces WHERE file = $1 AND n IN (SELECT n FROM attachment_pieces WHERE file = $1 ORDER BY n LIMIT $2)`
)

// Find reads the record of a file; nil when there is none.
func Find(ctx context.Context, q db.Querier, ws, hash string) (*File, error) {
	f := &File{Workspace: ws, SHA256: hash}
	err := q.QueryRow(ctx, selectFile, ws, hash).Scan(&f.id, &f.MediaType, &f.Bytes, &f.Sender, &f.At, &f.loose)
	return db.Found(f, err, "find attachment")
}

// FindAll reads the records of files, by their hashes. Unknown ones are missing.
func FindAll(ctx context.Context, q db.Querier, ws string, all []string) (map[string]*File, error) {
	out := make(map[string]*File, len(all))
	for some := range slices.Chunk(all, chunk) {
		if err := findSome(ctx, q, ws, some, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// findSome adds the records of at most chunk files to out.
func findSome(ctx context.Context, q db.Querier, ws string, some []string, out map[string]*File) error {
	args := make([]any, 1+chunk)
	args[0] = ws
	for i := range chunk {
		args[1+i] = ""
		if i < len(some) {
			args[1+i] = some[i]
		}
	}
	rows, err := q.Query(ctx, selectFiles, args...)
	return db.Each(rows, err, "find attachments", func(row db.Row) error {
		f := &File{Workspace: ws}
		err := row.Scan(&f.SHA256, &f.id, &f.MediaType, &f.Bytes, &f.Sender, &f.At, &f.loose)
		out[f.SHA256] = f
		return err
	})
}

// begin notes that a file arrives. The fault is TOO_MANY_FILES.
func begin(ctx context.Context, tx *db.Tx, f *File) error {
	if err := within(tx.QueryRow(ctx, countLoose, f.Workspace, maxLoose), maxLoose, "A workspace has at most %d attachments that no response uses yet. Send the responses that use them first."); err != nil {
		return err
	}
	if err := within(tx.QueryRow(ctx, countArriving, f.Workspace, maxArriving), maxArriving, "At most %d attachments arrive in a workspace at once. Try again in a moment."); err != nil {
		return err
	}
	return insertDrop(ctx, tx, f.id, f.Workspace, f.At)
}

// within requires that a count is below a bound.
func within(row db.Row, most int, detail string) error {
	var n int
	if err := row.Scan(&n); err != nil {
		return fmt.Errorf("count attachments: %w", err)
	}
	if n >= most {
		return fault.New(fault.TooMany, "TOO_MANY_FILES", fmt.Sprintf(detail, most))
	}
	return nil
}

func insertDrop(ctx context.Context, tx *db.Tx, id int64, ws string, at int64) error {
	_, err := tx.Exec(ctx, insertArriving, id, ws, at)
	return db.Wrap("note attachment", err)
}

// finish turns a complete upload into an attachment. It returns false when
// another upload was faster.
func finish(ctx context.Context, tx *db.Tx, f *File) (bool, error) {
	used, err := isUsed(ctx, tx, f.Workspace, f.SHA256)
	if err != nil {
		return false, err
	}
	loose := f.At
	if used {
		loose = 0
	}
	n, err := tx.Exec(ctx, insertFile, f.Workspace, f.SHA256, f.id, f.MediaType, f.Bytes, f.Sender, f.At, loose)
	if err != nil {
		return false, fmt.Errorf("insert attachment: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	if n, err = tx.Exec(ctx, deleteArriving, f.id); err != nil {
		return false, fmt.Errorf("insert attachment: %w", err)
	}
	if n == 0 {
		return false, fault.New(fault.TooSlow, "BODY_TOO_SLOW", "The body did not arrive in time.")
	}
	return true, nil
}

func addPiece(ctx context.Context, tx *db.Tx, id, n int64, data []byte) error {
	_, err := tx.Exec(ctx, insertPiece, id, n, data)
	return db.Wrap("insert piece of attachment", err)
}

func findPiece(ctx context.Context, q db.Querier, id, n int64) ([]byte, error) {
	var data []byte
	if err := q.QueryRow(ctx, selectPiece, id, n).Scan(&data); err != nil {
		return nil, fmt.Errorf("find piece %d of attachment: %w", n, err)
	}
	return data, nil
}

func removePieces(ctx context.Context, d *db.DB, id int64, limit int) (int, error) {
	n, err := d.Exec(ctx, deletePieces, id, limit)
	return int(n), db.Wrap("remove pieces of attachment", err)
}

func removeFile(ctx context.Context, d *db.DB, id int64) (int, error) {
	n, err := d.Exec(ctx, deleteArriving, id)
	return int(n), db.Wrap("remove attachment", err)
}

// dropFile takes an attachment away. Its pieces wait to be removed.
func dropFile(ctx context.Context, tx *db.Tx, ws, hash string) error {
	var id int64
	err := tx.QueryRow(ctx, deleteFile, ws, hash).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return fmt.Errorf("remove attachment: %w", err)
	}
	return insertDrop(ctx, tx, id, ws, 0)
}

// tie notes that a response uses an attachment.
func tie(ctx context.Context, tx *db.Tx, ws, hash string) error {
	_, err := tx.Exec(ctx, updateTied, ws, hash)
	return db.Wrap("note use of attachment", err)
}

// oldest is the oldest upload or removal that is pending, 0 for none.
func oldest(ctx context.Context, q db.Querier, before int64) (int64, error) {
	return number(q.QueryRow(ctx, selectOldest, before))
}

// droppedPage is how many files are removed at once.
const droppedPage = 100

// dropped lists files of a workspace that wait to be removed.
func dropped(ctx context.Context, q db.Querier, ws string) ([]int64, error) {
	rows, err := q.Query(ctx, selectDropped, ws, droppedPage)
	return db.Collect(rows, err, "find dropped attachments", db.Column[int64])
}

func number(row db.Row) (id int64, err error) {
	if err = row.Scan(&id); errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("find dropped attachment: %w", err)
	}
	return id, nil
}

func loosest(ctx context.Context, q db.Querier, before int64) (*File, error) {
	f := &File{}
	err := q.QueryRow(ctx, selectLoosest, before).Scan(&f.Workspace, &f.SHA256)
	return db.Found(f, err, "find unused attachment")
}

const (
	insertUse = `INSERT INTO attachment_uses (ws, sha256, survey, response, private) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (ws, sha256, survey, response) DO UPDATE SET private = excluded.private`
	selectUse     = `SELECT 1 FROM attachment_uses WHERE ws = $1 AND sha256 = $2 LIMIT 1`
	selectUses    = `SELECT sha256 FROM attachment_uses WHERE response = $1 ORDER BY sha256`
	selectMissing = `SELECT u.sha256 FROM attachment_uses u LEFT JOIN attachments a ON a.ws = u.ws AND a.sha256 = u.sha256
		WHERE u.response = $1 AND a.sha256 IS NULL AND (u.private = 0 OR $2 = 1) ORDER BY u.sha256`
	selectPrivateUse = `SELECT 1 FROM attachment_uses WHERE ws = $1 AND sha256 = $2 AND private = 1 LIMIT 1`
	// The uses of one survey after another: a file may be in thousands of
	// responses.
	selectNextUse   = `SELECT survey, response FROM attachment_uses WHERE ws = $1 AND sha256 = $2 AND survey > $3 ORDER BY survey, response LIMIT 1`
	selectPublicUse = `SELECT response FROM attachment_uses WHERE ws = $1 AND sha256 = $2 AND survey = $3 AND private = 0 ORDER BY response LIMIT 1`
	deleteUses      = `DELETE FROM attachment_uses WHERE response = $1`
	deleteUse       = `DELETE FROM attachment_uses WHERE ws = $1 AND sha256 = $2 AND response = $3`
)

func isUsed(ctx context.Context, q db.Querier, ws, hash string) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectUse, ws, hash), "find use of attachment")
}

// isPrivate reports whether a file is an answer about a person anywhere: naming
// it elsewhere must not open it.
func isPrivate(ctx context.Context, q db.Querier, ws, hash string) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectPrivateUse, ws, hash), "find use of attachment")
}

func hashes(rows db.Rows, err error) ([]string, error) {
	return db.Collect(rows, err, "list attachments", db.Column[string])
}
