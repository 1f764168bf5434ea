import type { SignInDeclaration } from '@plinth/admin'
import { memberAt, type Operation } from './operations.ts'

type Operations = ReadonlyMap<string, Operation>

interface ExpectedOperation {
  readonly method: 'GET' | 'POST'
  /** Members of the body that the sign-in page sends. */
  readonly sent: readonly string[]
  /** Members of the result that the page reads. */
  readonly read: readonly string[]
}

/** Operations of each kind of sign-in method. */
const expected: Readonly<Record<SignInDeclaration['kind'], Readonly<Record<string, ExpectedOperation>>>> = {
  wallet: {
    challenge: {
      method: 'POST',
      sent: ['chainType', 'address', 'chainId'],
      read: ['challengeId', 'message', 'issuedAt', 'expiresAt'],
    },
    login: { method: 'POST', sent: ['challengeId', 'address', 'signature', 'session'], read: [] },
  },
  recovery: {
    status: { method: 'GET', sent: [], read: ['available'] },
    request: { method: 'POST', sent: ['identifier'], read: [] },
    complete: { method: 'POST', sent: ['token', 'password'], read: [] },
    email: { method: 'POST', sent: ['token'], read: ['purpose'] },
  },
  passkey: {
    options: { method: 'POST', sent: [], read: ['options', 'challengeId'] },
    login: { method: 'POST', sent: ['challengeId', 'response', 'session'], read: [] },
  },
  'second-factor': {
    passkeyOptions: { method: 'POST', sent: ['pendingToken'], read: ['options', 'challengeId'] },
    passkey: { method: 'POST', sent: ['pendingToken', 'challengeId', 'response', 'session'], read: [] },
    totp: { method: 'POST', sent: ['pendingToken', 'code', 'session'], read: [] },
    recoveryCode: { method: 'POST', sent: ['pendingToken', 'code', 'session'], read: [] },
    setUpPasskeyOptions: { method: 'POST', sent: ['pendingToken'], read: ['options', 'challengeId'] },
    setUpPasskey: {
      method: 'POST',
      sent: ['pendingToken', 'challengeId', 'response', 'session'],
      read: ['recoveryCodes'],
    },
    setUpTotpOptions: { method: 'POST', sent: ['pendingToken'], read: ['setUpId', 'secret', 'uri', 'qr'] },
    setUpTotp: { method: 'POST', sent: ['pendingToken', 'setUpId', 'code', 'session'], read: ['recoveryCodes'] },
  },
  providers: {
    list: { method: 'GET', sent: [], read: ['providers'] },
    start: { method: 'POST', sent: ['returnTo', 'session'], read: ['url'] },
    callback: { method: 'POST', sent: ['parameters', 'session'], read: ['returnTo'] },
  },
}

/** Returns the expected operations of a declaration, each with its name and its operation if that is loaded. */
const operationsOfWay = (way: SignInDeclaration, operations: Operations) =>
  Object.entries(expected[way.kind]).map(([name, expectation]) => {
    const id = (way as unknown as Readonly<Record<string, string>>)[name] ?? ''
    return { name, id, operation: operations.get(id), ...expectation }
  })

/** Returns the problems of the declared sign-in methods. Each problem is one sentence. */
export function findSignInProblems(declared: Iterable<SignInDeclaration>, operations: Operations): readonly string[] {
  return [...declared].flatMap((way) => {
    const problems = operationsOfWay(way, operations).flatMap(({ id, operation, method, sent, read }) => {
      if (operation === undefined) return [`no loaded plugin provides the operation "${id}"`]
      const { access, body, data } = operation
      return [
        ...(operation.method === method && access === 'public' ? [] : [`${id} is not a public ${method} operation`]),
        ...sent.flatMap((one) => (memberAt(body, one) ? [] : [`"${one}" is not a member of the body of ${id}`])),
        ...read.flatMap((one) => (memberAt(data, one) ? [] : [`"${one}" is not a member of the result of ${id}`])),
      ]
    })
    return problems.map((problem) => `sign-in "${way.id}": ${problem}`)
  })
}

/** Returns the sign-in methods with their operations, ordered by id. A method whose operation is missing is omitted. */
export function signInViews(declared: Iterable<SignInDeclaration>, operations: Operations): readonly object[] {
  return [...declared]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((way) => {
      const found = operationsOfWay(way, operations).flatMap(({ name, operation }) =>
        operation === undefined ? [] : [[name, { method: operation.method, path: operation.path }]],
      )
      if (found.length < Object.keys(expected[way.kind]).length) return []
      return [{ id: way.id, kind: way.kind, ...Object.fromEntries(found) }]
    })
}
