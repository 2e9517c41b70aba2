package account

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// What the actions offer to packs. Answers to inputs marked secret are pin,
// confirm, oldPin and code; all other arguments are variables, or constants of
// the node.
//
//	createAccount      name, email, pin, confirm      makes an account; the caller is not logged in by it
//	weakPin            pin                            tells at once whether a new PIN is too easy
//	login              customerId, pin                temporary: the PIN is right but must be changed first, with changePin
//	changePin          oldPin, pin, confirm           of whoever is logged in; without oldPin after a temporary one, and logs in
//	resetStart         customerId                     sends a code to the account's own number; ok also when there is none
//	resetFinish        customerId, code, pin, confirm a wrong code and an unknown id are the same
//	setLanguage        language                       of the session and of whoever is logged in
//	householdStatus                                   none: not registered yet
//	registerHousehold  district, size                 of whoever is logged in; missing: the account was closed, nothing is stored
//	sms                en, sw, …                      sends the text of the language to the caller, else that of the default language
//	findCustomer       customerId                     missing: the id cannot be tried now; an id nobody has is found as well
//	logout
//
// weakReason is a sentence in the language of the session. triesLeft is a
// number, lockedFor a number of minutes. locked is over by itself, blocked only
// when an operator unlocks. held says that an operator has stopped the number;
// packs may leave it out, see menu.Held.
const (
	actCreate    = "createAccount"
	actWeak      = "weakPin"
	actLogin     = "login"
	actChange    = "changePin"
	actResetAsk  = "resetStart"
	actResetEnd  = "resetFinish"
	actLanguage  = "setLanguage"
	actHousehold = "householdStatus"
	actRegister  = "registerHousehold"
	actSMS       = "sms"
	actFind      = "findCustomer"
	actLogout    = "logout"
)

// Results of actions.
const (
	resOK        = "ok"
	resWeak      = "weak"
	resMismatch  = "mismatch"
	resFull      = "full"
	resTemporary = "temporary"
	resWrong     = "wrong"
	resLocked    = "locked"
	resBlocked   = "blocked"
	resHeld      = menu.Held // the number is on hold
	resOff       = "off"
	resQueued    = "queued"
	resMissing   = "missing"
)

// Variables that actions read or set.
const (
	varCustomer   = "customerId"
	varName       = "customerName"
	varFullName   = "name"
	varEmail      = "email"
	varTries      = "triesLeft"
	varLockedFor  = "lockedFor"
	varWeakReason = "weakReason"
	varHousehold  = "household"
	varIdentity   = "identity"
	varLanguage   = "language"
	varDistrict   = "district"
	varSize       = "size"
	varTicket     = "pinTicket" // account whose temporary PIN was right
	secretPIN     = "pin"
	secretConfirm = "confirm"
	secretOld     = "oldPin"
	secretCode    = "code"
)

// Actions are what menu packs can do with accounts: one value each. A nil
// pointer describes them.
func (ac *actions) Actions() map[string]machine.Action {
	guarded := []string{resWrong, resLocked, resBlocked, resHeld}
	tries := []string{varTries, varLockedFor}
	return map[string]machine.Action{
		actCreate: {Effect: true, Run: ac.create, Results: []string{resOK, resWeak, resMismatch, resFull, resHeld}, Sets: []string{varCustomer, varName, varWeakReason}},
		actWeak:   {Run: weakPIN, Results: []string{resOK, resWeak}, Sets: []string{varWeakReason}},
		actLogin: {
			Effect: true, Run: ac.login, Stands: stands,
			Results: append([]string{resOK, resTemporary}, guarded...), Sets: append([]string{varName, varTicket}, tries...),
		},
		actChange: {
			Effect: true, Run: ac.change, Stands: stands,
			Results: append([]string{resOK, resWeak, resMismatch}, guarded...), Sets: append([]string{varName, varTicket, varWeakReason}, tries...),
		},
		actResetAsk: {Effect: true, Run: ac.resetStart, Results: []string{resOK, resOff}},
		actResetEnd: {Effect: true, Run: ac.resetFinish, Results: append([]string{resOK, resWeak, resMismatch}, guarded...), Sets: append([]string{varWeakReason}, tries...)},
		actLanguage: {Effect: true, Run: ac.language, Results: []string{resOK}},
		actHousehold: {
			Run: householdStatus, Results: []string{string(TwinsNone), string(TwinsPending), string(TwinsReady), string(TwinsFailed)},
			Sets: []string{varHousehold, varIdentity, varDistrict, varSize},
		},
		actRegister: {Effect: true, Run: ac.register, Results: []string{resOK, resMissing}},
		actSMS:      {Effect: true, Run: ac.text, Results: []string{resQueued, resOff}},
		actFind:     {Effect: true, Run: ac.findCustomer, Results: []string{resOK, resMissing}},
		actLogout:   {Run: logout, Results: []string{resOK}, Sets: []string{varName}},
	}
}

// Texts names the actions whose constants are a text by language.
func Texts() []string { return []string{actSMS} }

// Known lists the actions with their results, and the variables they set: what
// a pack is checked against where there is no store, as by lint.
func Known() (results map[string][]string, vars []string) {
	results = map[string][]string{}
	seen := map[string]bool{}
	for name, a := range (*actions)(nil).Actions() {
		results[name] = a.Results
		for _, v := range a.Sets {
			if !seen[v] {
				seen[v] = true
				vars = append(vars, v)
			}
		}
	}
	slices.Sort(vars)
	return results, vars
}
