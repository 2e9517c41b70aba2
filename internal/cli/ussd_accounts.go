package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
)

func ussdAccountCommands() []command {
	return []command{
		{name: "ussd accounts list", summary: "List the customers' accounts", run: accountsList, flags: accountsListFlags},
		{name: "ussd accounts unlock", args: "<id or number>", summary: "Unlock an account by its Customer ID, or a phone number", run: accountsUnlock},
		{name: "ussd accounts hold", args: "<id or number>", summary: "Keep a phone number out whose SIM card was changed", run: accountsHold, flags: accountsHoldFlags},
		{name: "ussd accounts release", args: "<id or number>", summary: "End the hold of a phone number", run: accountsRelease},
		{name: "ussd accounts reset", args: "<id>", summary: "Give an account a PIN for one use", run: accountsReset, flags: accountsResetFlags},
		{name: "ussd accounts close", args: "<id>", summary: "Close an account for good", run: accountsClose},
		{name: "ussd accounts import", args: "<file>", summary: "Take over accounts of an earlier server from CSV", run: accountsImport},
		{name: "ussd accounts rotate", summary: "Seal PINs again with the current key, and report progress", run: accountsRotate},
	}
}

// withAccounts does something with the accounts as the owner of the server.
func withAccounts(ctx context.Context, c *call, f func(context.Context, *account.Service) error) error {
	return asOwner(ctx, c, auth.OperatorWorkspace, func(ctx context.Context, core *app.Core) error {
		s, _, err := core.Accounts(ctx, c.cfg, app.AccountHooks{})
		if err != nil {
			return err
		}
		return f(ctx, s)
	})
}

type accountFilter struct {
	locked, numbers         bool
	customer, phone, status string
}

func accountsListFlags(fs *flag.FlagSet) any {
	f := &accountFilter{}
	fs.BoolVar(&f.locked, "locked", false, "only accounts that are locked, or whose phone number is held")
	fs.BoolVar(&f.numbers, "numbers", false, "locked and held phone numbers in place of accounts")
	fs.StringVar(&f.customer, "id", "", "only the account of this Customer `ID`")
	fs.StringVar(&f.phone, "phone", "", "only accounts of this `number`")
	fs.StringVar(&f.status, "status", "", "only accounts of this `status`: active or closed")
	return f
}

func accountsList(ctx context.Context, c *call) error {
	f := c.own.(*accountFilter)
	if len(c.args) > 0 {
		return errUsage{"list takes no arguments"}
	}
	switch account.Status(f.status) {
	case "", account.Active, account.Closed:
	default:
		return errUsage{"--status is active or closed"}
	}
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		if f.numbers {
			return listNumbers(ctx, c, s)
		}
		tw := c.table("CUSTOMER ID\tPHONE\tSTATUS\tLOCK\tTWINS\tCREATED\tNAME")
		filter := account.Filter{CustomerID: f.customer, Locked: f.locked, Phone: f.phone, Status: account.Status(f.status)}
		for after, first := "", true; first || after != ""; first = false {
			page, next, err := s.List(ctx, filter, after, 100)
			if err != nil {
				return err
			}
			for _, a := range page {
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.CustomerID, a.Phone, a.Status, accountLock(&a), a.Twins, day(a.CreatedAt), a.Name)
			}
			after = next
		}
		return tw.Flush()
	})
}

// accountLock says what keeps the owner of an account out.
func accountLock(a *account.Account) string {
	word := lockWord(a.Blocked, a.LockedTo)
	if !a.Held {
		return word
	}
	held := "held"
	if !a.HeldTo.IsZero() {
		held = "held until " + a.HeldTo.UTC().Format(holdForm)
	}
	if word != "-" {
		held = word + ", " + held
	}
	return held
}

// holdForm is how the end of a hold is written: it may be days away.
const holdForm = "2006-01-02 15:04 UTC"

// lockWord says how long a lock lasts.
func lockWord(blocked bool, until time.Time) string {
	switch {
	case blocked:
		return "until unlocked"
	case until.IsZero():
		return "-"
	}
	return "until " + until.UTC().Format("15:04")
}

func listNumbers(ctx context.Context, c *call, s *account.Service) error {
	tw := c.table("PHONE\tWRONG PINS\tLOCK\tWHY")
	const page = 100
	for after := ""; ; {
		numbers, err := s.LockedNumbers(ctx, after, page)
		if err != nil {
			return err
		}
		for _, n := range numbers {
			word, why := lockWord(n.Blocked, n.LockedTo), "wrong PINs"
			if n.Held {
				why = "held"
			}
			if n.Held && !n.LockedTo.IsZero() {
				word = "until " + n.LockedTo.UTC().Format(holdForm)
			}
			if n.Held && n.Blocked {
				word = "until released"
			}
			fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", n.Phone, n.Wrong, word, why)
			after = n.Phone
		}
		if len(numbers) < page {
			return tw.Flush()
		}
	}
}

func accountsUnlock(ctx context.Context, c *call) error {
	ref, err := c.one("Customer ID or phone number")
	if err != nil {
		return err
	}
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		if err := s.Unlock(ctx, ref); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s is unlocked.\n", ref)
		return stillHeld(ctx, c, s, ref)
	})
}

// stillHeld reminds of a hold, which nothing but a release ends.
func stillHeld(ctx context.Context, c *call, s *account.Service, ref string) error {
	n, err := s.Held(ctx, ref)
	if err == nil && n.Held {
		fmt.Fprintf(c.out, "The number is still held: hearth ussd accounts release %s\n", n.Phone)
	}
	return err
}

type holdFlags struct{ length holdTime }

// holdTime is a time that may be left out. None at all is not the same: a hold
// that is over at once is a slip.
type holdTime struct {
	length time.Duration
	given  bool
}

// String is for the flag package.
func (h *holdTime) String() string { return "" }

// Set takes a time.
func (h *holdTime) Set(text string) (err error) {
	h.given = true
	if h.length, err = time.ParseDuration(text); err != nil {
		return errors.New("want a time such as 72h")
	}
	return nil
}

func accountsHoldFlags(fs *flag.FlagSet) any {
	h := &holdFlags{}
	fs.Var(&h.length, "for", "`duration` such as 72h; until it is released by default")
	return h
}

func accountsHold(ctx context.Context, c *call) error {
	ref, err := c.one("Customer ID or phone number")
	if err != nil {
		return err
	}
	until, words := time.Time{}, "until it is released"
	if h := c.own.(*holdFlags).length; h.given && h.length <= 0 {
		return errUsage{"--for is a duration such as 72h, above zero"}
	} else if h.given {
		until = time.Now().Add(h.length)
		words = "until " + until.UTC().Format(holdForm)
	}
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		if err := s.Hold(ctx, ref, until); err != nil {
			return err
		}
		n, err := s.Held(ctx, ref)
		if err != nil {
			return err
		}
		number := "The number " + n.Phone
		if n.Phone != ref {
			number += " of " + ref
		}
		fmt.Fprintf(c.out, "%s is held %s. All accounts on it are stopped: nobody can log in from it or open an account, and it gets no codes.\n", number, words)
		return nil
	})
}

func accountsRelease(ctx context.Context, c *call) error {
	ref, err := c.one("Customer ID or phone number")
	if err != nil {
		return err
	}
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		released, err := s.Release(ctx, ref)
		if err != nil {
			return err
		}
		if !released {
			fmt.Fprintf(c.out, "%s is not held.\n", ref)
			return nil
		}
		fmt.Fprintf(c.out, "%s is released.\n", ref)
		return nil
	})
}

type resetFlags struct{ show bool }

func accountsResetFlags(fs *flag.FlagSet) any {
	r := &resetFlags{}
	fs.BoolVar(&r.show, "show", false, "print the PIN instead of sending it to the customer's phone")
	return r
}

func accountsReset(ctx context.Context, c *call) error {
	id, err := c.one("Customer ID")
	if err != nil {
		return err
	}
	show := c.own.(*resetFlags).show
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		pin, sent, err := s.Reset(ctx, id, !show)
		switch {
		case err != nil:
			return err
		case sent:
			fmt.Fprintf(c.out, "A PIN for one use goes to the phone of %s. It is good for a day.\n", id)
		default:
			fmt.Fprintf(c.out, "PIN     %s\n        This is shown once. It is good for a day and for one login.\n", pin)
		}
		return stillHeld(ctx, c, s, id)
	})
}

func accountsClose(ctx context.Context, c *call) error {
	id, err := c.one("Customer ID")
	if err != nil {
		return err
	}
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		if err := s.Close(ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s is closed.\n", id)
		return nil
	})
}

func accountsImport(ctx context.Context, c *call) error {
	name, err := c.one("CSV file")
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		report, err := s.Import(ctx, file)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "imported  %d\nexisting  %d\nsealed    %d\nat login  %d\nlocked    %d\nleft out  %d\n",
			report.Imported, report.Existing, report.Sealed, report.Legacy, report.Locked, report.Bad)
		for _, p := range report.Problems {
			fmt.Fprintf(c.out, "%s:%d: %s\n", name, p.Line, p.Text)
		}
		if report.Legacy > 0 {
			fmt.Fprintln(c.out, "Serve with LEGACY_PIN_ENCRYPTION_KEY until those counted as at login have logged in.")
		}
		if report.Bad > 0 {
			return errors.New("some lines are not accounts; correct them and import the file again: existing accounts stay")
		}
		return nil
	})
}

func accountsRotate(ctx context.Context, c *call) error {
	if len(c.args) > 0 {
		return errUsage{"rotate takes no arguments: the keys are PIN_ENCRYPTION_KEY and PIN_ENCRYPTION_KEY_OLD"}
	}
	return withAccounts(ctx, c, func(ctx context.Context, s *account.Service) error {
		done, err := s.Rotated(ctx)
		if err != nil {
			return err
		}
		if done {
			fmt.Fprintln(c.out, "Every PIN is sealed with the current key. PIN_ENCRYPTION_KEY_OLD can go.")
		} else {
			fmt.Fprintln(c.out, "Some PINs are still under the old key. The running server is sealing them again; ask again in a while.")
		}
		return nil
	})
}
