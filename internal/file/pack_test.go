package file_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/file"
)

// Pieces of one packer do not share anything, and are what one for each makes.
func TestPacker(t *testing.T) {
	t.Parallel()
	var p file.Packer
	var all [][]byte
	texts := [][]byte{bytes.Repeat([]byte("a"), file.PieceSize), nil, []byte("b"), bytes.Repeat([]byte("xyz"), 1000)}
	for _, raw := range texts {
		packed, err := p.Pack(raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packed)
	}
	for i, raw := range texts {
		want, err := new(file.Packer).Pack(raw)
		if err != nil || !bytes.Equal(all[i], want) {
			t.Errorf("%d: %d bytes, want %d (%v)", i, len(all[i]), len(want), err)
		}
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, _ := received(t, d, "a", 10)
		if err := file.Drop(t.Context(), d, "a"); err != nil {
			t.Fatal(err)
		}
		err := d.InTx(t.Context(), func(tx *db.Tx) error { return file.Update(t.Context(), tx, f) })
		if !errors.Is(err, file.ErrGone) {
			t.Errorf("Update() = %v, want %v", err, file.ErrGone)
		}
	})
}
