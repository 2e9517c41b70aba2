package account

import (
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// The actions offered to packs. Answers to inputs marked secret are pin,
// confirm, oldPin and code; all other arguments are variables, or constants of
// the node.
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

// The arguments of actions.
var (
	takesCustomer = machine.Param{Name: varCustomer, About: "Customer ID"}
	takesPIN      = machine.Param{Name: secretPIN, Secret: true, About: "PIN"}
	takesNew      = []machine.Param{{Name: secretPIN, Secret: true, About: "the new PIN"}, {Name: secretConfirm, Secret: true, About: "the same again"}}
)

// Variables describes the variables that the actions set.
func Variables() []machine.Param {
	return []machine.Param{
		{Name: varCustomer, About: "Customer ID of a new account"},
		{Name: varName, About: "name of the customer who is logged in, or has just opened an account"},
		{Name: varTries, About: "wrong tries left until the next lock"},
		{Name: varLockedFor, About: "minutes until a lock ends"},
		{Name: varWeakReason, About: "why a PIN is too easy, a sentence in the language of the session"},
		{Name: varHousehold, About: "DID of the household, when its twin is ready"},
		{Name: varIdentity, About: "DID of the customer, when the twin is ready"},
		{Name: varDistrict, About: "district of the household"},
		{Name: varSize, About: "people in the household"},
		{Name: varTicket, About: "kept between a temporary PIN and the new one; not for screens"},
	}
}

// Actions are what menu packs can do with accounts: one value each. A nil
// pointer describes them.
func (ac *actions) Actions() map[string]machine.Action {
	guarded := []string{resWrong, resLocked, resBlocked, resHeld}
	tries := []string{varTries, varLockedFor}
	return map[string]machine.Action{
		actCreate: {
			About:  "makes an account; this does not log the caller in. `full`: the number has as many accounts as it may",
			Takes:  append([]machine.Param{{Name: varFullName, About: "full name"}, {Name: varEmail, About: "email; may be missing"}}, takesNew...),
			Effect: true, Run: ac.create, Results: []string{resOK, resWeak, resMismatch, resFull, resHeld}, Sets: []string{varCustomer, varName, varWeakReason},
		},
		actWeak: {
			About: "reports at once whether a new PIN is too easy, before it is typed again", Takes: takesNew[:1],
			Run: weakPIN, Results: []string{resOK, resWeak}, Sets: []string{varWeakReason},
		},
		actLogin: {
			About:  "logs in. `temporary`: the PIN is right but must be changed first, with `changePin`; `locked` ends by itself, `blocked` only when an operator unlocks",
			Takes:  []machine.Param{takesCustomer, takesPIN},
			Effect: true, Run: ac.login, Stands: stands,
			Results: append([]string{resOK, resTemporary}, guarded...), Sets: append([]string{varName, varTicket}, tries...),
		},
		actChange: {
			About:  "gives the customer who is logged in a new PIN; after a temporary one without `oldPin`, and logs in",
			Takes:  append([]machine.Param{{Name: secretOld, Secret: true, About: "the current PIN"}}, takesNew...),
			Effect: true, Run: ac.change, Stands: stands,
			Results: append([]string{resOK, resWeak, resMismatch}, guarded...), Sets: append([]string{varName, varTicket, varWeakReason}, tries...),
		},
		actResetAsk: {
			About: "sends a code to the account's own number when the caller has it; `ok` also when there is no such account. `off`: no SMS can be sent",
			Takes: []machine.Param{takesCustomer}, Effect: true, Run: ac.resetStart, Results: []string{resOK, resOff},
		},
		actResetEnd: {
			About:  "gives an account a new PIN in exchange for the code; a wrong code and an unknown id have the same result",
			Takes:  append([]machine.Param{takesCustomer, {Name: secretCode, Secret: true, About: "the code"}}, takesNew...),
			Effect: true, Run: ac.resetFinish, Results: append([]string{resOK, resWeak, resMismatch}, guarded...), Sets: append([]string{varWeakReason}, tries...),
		},
		actLanguage: {
			About: "changes the language of the session and of the customer who is logged in", Takes: []machine.Param{{Name: varLanguage, About: "code of the language"}},
			Effect: true, Run: ac.language, Results: []string{resOK},
		},
		actHousehold: {
			About: "reports the state of the household's record; `none`: it is not registered yet",
			Run:   householdStatus, Results: []string{string(TwinsNone), string(TwinsPending), string(TwinsReady), string(TwinsFailed)},
			Sets: []string{varHousehold, varIdentity, varDistrict, varSize},
		},
		actRegister: {
			About:  "stores the household of the customer who is logged in; `missing`: the account was closed, nothing is stored",
			Takes:  []machine.Param{{Name: varDistrict, About: "district"}, {Name: varSize, About: "people in it"}},
			Effect: true, Run: ac.register, Results: []string{resOK, resMissing},
		},
		actSMS: {
			About: "sends the caller the text in the language of the session, otherwise in the default language; `off`: no SMS can be sent, or 10 were sent today",
			Texts: true, Effect: true, Run: ac.text, Results: []string{resQueued, resOff},
		},
		actFind: {
			About: "`missing`: a login with this id cannot be tried now; an id that does not exist is reported as found too", Takes: []machine.Param{takesCustomer},
			Effect: true, Run: ac.findCustomer, Results: []string{resOK, resMissing},
		},
		actLogout: {About: "logs out", Run: logout, Results: []string{resOK}, Sets: []string{varName}},
	}
}

// Offered returns the actions for checking packs, as lint does, without a
// store.
func Offered() map[string]machine.Action { return (*actions)(nil).Actions() }
