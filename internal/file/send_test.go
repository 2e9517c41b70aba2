package file_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/file"
)

func TestSend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, size := range []int{0, 1, 2*file.PieceSize + 77} {
			f, raw := received(t, d, db.NewID(), size)
			var out bytes.Buffer
			if gone, err := file.Send(t.Context(), d, f, &out); gone || err != nil || !bytes.Equal(out.Bytes(), raw) {
				t.Errorf("%d bytes: %d came, %v, %v", size, out.Len(), gone, err)
			}
		}
		f, _ := received(t, d, db.NewID(), 10)
		r, w := io.Pipe()
		r.Close()
		if gone, err := file.Send(t.Context(), d, f, w); !gone || err != nil {
			t.Errorf("to nobody: %v, %v", gone, err)
		}
		f.Bytes = 20
		if gone, err := file.Send(t.Context(), d, f, io.Discard); gone || err == nil {
			t.Errorf("a piece is missing: %v, %v", gone, err)
		}
	})
}

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
