import type { SignInDeclaration } from '@plinth/admin'
import { memberAt, type Operation } from './operations.ts'

type Operations = ReadonlyMap<string, Operation>

/** Members that the sign-in page sends to and reads from the operations of a sign-in method. */
const expected = {
  challenge: {
    sent: ['chainType', 'address', 'chainId'],
    read: ['challengeId', 'message', 'issuedAt', 'expiresAt'],
  },
  login: { sent: ['challengeId', 'address', 'signature', 'session'], read: [] },
} as const
const names = ['challenge', 'login'] as const

/** Returns the problems of the declared sign-in methods. Each problem is one sentence. */
export function findSignInProblems(declared: Iterable<SignInDeclaration>, operations: Operations): readonly string[] {
  return [...declared].flatMap((way) => {
    const problems = names.flatMap((name) => {
      const operation = operations.get(way[name])
      if (operation === undefined) return [`no loaded plugin provides the operation "${way[name]}"`]
      const { method, access, body, data } = operation
      const { sent, read } = expected[name]
      return [
        ...(method === 'POST' && access === 'public' ? [] : [`${way[name]} is not a public POST operation`]),
        ...sent.flatMap((one) => (memberAt(body, one) ? [] : [`"${one}" is not a member of the body of ${way[name]}`])),
        ...read.flatMap((one) =>
          memberAt(data, one) ? [] : [`"${one}" is not a member of the result of ${way[name]}`],
        ),
      ]
    })
    return problems.map((problem) => `sign-in "${way.id}": ${problem}`)
  })
}

/** Returns the sign-in methods with their operations, ordered by id. A method whose operation is missing is omitted. */
export function signInViews(declared: Iterable<SignInDeclaration>, operations: Operations) {
  return [...declared]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, kind, ...way }) => {
      const [challenge, login] = names.map((name) => operations.get(way[name]))
      if (challenge === undefined || login === undefined) return []
      const callable = ({ method, path }: Operation) => ({ method, path })
      return [{ id, kind, challenge: callable(challenge), login: callable(login) }]
    })
}
