package account

import (
	"context"
	"crypto/aes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	importChunk    = 50  // accounts in one transaction
	importProblems = 100 // that are reported
	keyTrials      = 100 // PINs none of which opens: the key is wrong
)

// ImportReport is the result of an import.
type ImportReport struct {
	Imported int // accounts that are new
	Existing int // that were there: an import can be run again
	Sealed   int // PINs that were re-sealed at once
	Legacy   int // PINs that are checked in their old form at the next login
	Locked   int // accounts without a PIN: an operator has to reset them
	Bad      int // lines that are no account
	Problems []ImportProblem
}

// ImportProblem is a line that was left out. It repeats nothing of the line.
type ImportProblem struct {
	Line int
	Text string
}

// importColumns are those of the table of customers of the earlier server, with
// the number of the customer. Others are passed over.
var importColumns = []string{"customer_id", "full_name", "email", "phone", "encrypted_pin", "preferred_language"}

// Import reads the accounts of an earlier server from CSV with a header line:
// customer_id, full_name, email, phone (or phone_number), encrypted_pin,
// preferred_language. PINs of five digits are re-sealed at once, others when
// their owners log in. A file whose PINs the key cannot have made is refused
// before anything is stored; faults: IMPORT_INVALID, LEGACY_KEY_WRONG.
func (s *Service) Import(ctx context.Context, from io.Reader) (ImportReport, error) {
	in, err := newImport(s, from)
	if err != nil {
		return ImportReport{}, err
	}
	var ahead []*row // read until the key is known to be right
	for done := false; !done; {
		chunk, err := in.chunk()
		if errors.Is(err, io.EOF) {
			done = true
		} else if err != nil {
			return in.report, err
		}
		ahead = append(ahead, chunk...)
		if in.unopened != nil && in.opened == 0 && (done || in.tried >= keyTrials) && !in.fits() {
			return in.report, fault.New(fault.Invalid, "LEGACY_KEY_WRONG",
				"None of the PINs was made with this key. Set LEGACY_PIN_ENCRYPTION_KEY to the PIN_ENCRYPTION_KEY of the server the accounts come from.")
		}
		if !done && in.opened == 0 && in.tried < keyTrials && len(ahead) < 10*keyTrials {
			continue
		}
		for len(ahead) > 0 {
			n := min(len(ahead), importChunk)
			if err := in.store(ctx, ahead[:n]); err != nil {
				return in.report, err
			}
			ahead = ahead[n:]
		}
	}
	return in.report, nil
}

// fits reports whether the key made PINs that are not of 5 digits, and remembers
// it when it did.
func (in *importer) fits() bool {
	if in.s.legacy.made(*in.unopened) {
		in.opened++
		return true
	}
	return false
}

// importer is one import at work.
type importer struct {
	s             *Service
	csv           *csv.Reader
	at            map[string]int // column → place
	pins          map[[aes.BlockSize]byte]string
	tried, opened int
	unopened      *[aes.BlockSize]byte // the first PIN that is not of 5 digits under this key
	report        ImportReport
}

func newImport(s *Service, from io.Reader) (*importer, error) {
	if s.legacy == nil {
		return nil, fault.New(fault.Invalid, "LEGACY_KEY_WRONG", "Set LEGACY_PIN_ENCRYPTION_KEY to the PIN_ENCRYPTION_KEY of the server the accounts come from.")
	}
	r := csv.NewReader(from)
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return nil, fault.New(fault.Invalid, "IMPORT_INVALID", "The file has no header line.").Wrap(err)
	}
	at := map[string]int{}
	for i, name := range head {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))] = i
	}
	if i, ok := at["phone_number"]; ok { // as the earlier server calls it, in its table of numbers
		if _, given := at["phone"]; !given {
			at["phone"] = i
		}
	}
	lacks := slices.DeleteFunc(slices.Clone(importColumns), func(name string) bool { _, ok := at[name]; return ok })
	if len(lacks) > 0 {
		return nil, fault.New(fault.Invalid, "IMPORT_INVALID", "The header line lacks "+strings.Join(lacks, ", ")+".")
	}
	return &importer{s: s, csv: r, at: at}, nil
}

// chunk reads some lines; io.EOF comes with the last of them.
func (in *importer) chunk() ([]*row, error) {
	var out []*row
	for len(out) < importChunk {
		record, err := in.csv.Read()
		line := 0
		if len(record) > 0 {
			line, _ = in.csv.FieldPos(0)
		}
		switch {
		case errors.Is(err, io.EOF):
			return out, io.EOF
		case errors.Is(err, csv.ErrFieldCount):
			in.bad(line, "It has a different number of fields from the header line.")
			continue
		case err != nil:
			return nil, fault.New(fault.Invalid, "IMPORT_INVALID", fmt.Sprintf("The file is not valid CSV after %d accounts.", in.report.Imported+len(out))).Wrap(err)
		}
		if r := in.read(line, record); r != nil {
			out = append(out, r)
		}
	}
	return out, nil
}

func (in *importer) bad(line int, text string) {
	in.report.Bad++
	if len(in.report.Problems) < importProblems {
		in.report.Problems = append(in.report.Problems, ImportProblem{Line: line, Text: text})
	}
}

// read makes an account of a line, nil when it cannot be one.
func (in *importer) read(line int, record []string) *row {
	field := func(name string) string { return strings.TrimSpace(record[in.at[name]]) }
	r := newRow(in.s.cfg.Now())
	r.customer, r.name, r.email = customerID(field("customer_id")), field("full_name"), field("email")
	r.lang, r.phone = importLanguage(field("preferred_language")), importPhone(field("phone"))
	switch {
	case r.customer == "":
		in.bad(line, "customer_id is not C and 8 to 19 letters or digits.")
		return nil
	case !plain(r.name, maxName) || !plain(r.email, maxEmail):
		in.bad(line, "full_name or email is too long or holds control characters.")
		return nil
	case r.phone != "" && !phoneForm.MatchString(r.phone):
		in.bad(line, "phone is not in international form, as +254700000000.")
		return nil
	}
	stored := field("encrypted_pin")
	if stored == "" || strings.EqualFold(stored, "null") {
		return r
	}
	block, err := decodeLegacy(stored)
	if err != nil {
		in.bad(line, "encrypted_pin is not base64 of 16 bytes.")
		return nil
	}
	in.tried++
	if in.pins == nil {
		in.pins = in.s.legacy.table()
	}
	if pin, ok := in.pins[block]; ok {
		in.opened++
		p := in.s.seal(r.id, pin, time.Time{})
		r.pin, r.pinKey = p.pin, p.key
		return r
	}
	if in.unopened == nil {
		in.unopened = &block
	}
	r.pinLegacy = stored
	return r
}

// store keeps some accounts in one transaction.
func (in *importer) store(ctx context.Context, rows []*row) error {
	var done ImportReport
	ctx = operator(ctx)
	err := in.s.db.InTx(ctx, func(tx *db.Tx) error {
		done = ImportReport{}
		for _, r := range rows {
			made, err := insert(ctx, tx, r)
			if err != nil {
				return err
			}
			if !made {
				done.Existing++
				continue
			}
			if err := in.s.record(ctx, tx, "ussd.account_created", r, map[string]any{"imported": true}); err != nil {
				return err
			}
			if err := in.s.askForTwins(ctx, tx, r, whyChanged); err != nil {
				return err
			}
			done.Imported++
			switch {
			case r.pinKey != "":
				done.Sealed++
			case r.pinLegacy != "":
				done.Legacy++
			default:
				done.Locked++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	in.report.Imported += done.Imported
	in.report.Existing += done.Existing
	in.report.Sealed += done.Sealed
	in.report.Legacy += done.Legacy
	in.report.Locked += done.Locked
	return nil
}

// importLanguage turns the codes of three letters into ours.
func importLanguage(code string) string {
	switch code = strings.ToLower(code); code {
	case "", "eng":
		return "en"
	case "swa":
		return "sw"
	case "fra":
		return "fr"
	case "por":
		return "pt"
	}
	if languageForm.MatchString(code) {
		return code
	}
	return "en"
}

// importPhone adds the plus that some tables leave out.
func importPhone(phone string) string {
	phone = strings.ReplaceAll(phone, " ", "")
	if phone != "" && phone[0] >= '1' && phone[0] <= '9' {
		return "+" + phone
	}
	return phone
}

// plain reports whether a text is short and prints.
func plain(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, unicode.IsControl)
}
