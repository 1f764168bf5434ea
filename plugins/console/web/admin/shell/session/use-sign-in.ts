import type { Callable } from '../../api/callable.ts'
import { useApi } from '../../api/context.tsx'
import { type Account, ownAccount } from './session-calls.ts'

/** Opens a session by what somebody proves; the browser holds a cookie that no script can read. Answers whose it is. */
type SignIn = (operation: Callable, proof: object, signal: AbortSignal) => Promise<Account>

export function useSignIn(): SignIn {
  const api = useApi()
  return async (operation, proof, signal) => {
    await api.call(operation, { body: { ...proof, session: 'cookie' }, signal })
    return api.call<Account>(ownAccount, { signal })
  }
}
