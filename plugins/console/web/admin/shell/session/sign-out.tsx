import { Button, type ButtonProps } from '@mantine/core'
import { IconLogout } from '@tabler/icons-react'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import { logout, providerLogout } from '../../api/operations.ts'
import { useWrite } from '../../api/use-write.ts'
import { openProvider } from '../../providers/provider-flow.ts'
import { providersWay, type SessionState } from './session-state.ts'
import classes from './sign-out.module.css'

/** Result of a logout. The address ends the session at the provider that opened this one. */
type LogoutResult = { readonly url?: string | null } | null

/** Ends the session here, in the other tabs of this browser, and at the provider. */
export function SignOut({ session, ...look }: ButtonProps & { readonly session: SessionState }) {
  const { translate } = useLanguage()
  const api = useApi()
  const operation = providersWay === undefined ? logout : providerLogout
  const signOut = useWrite((signal) => api.call<LogoutResult>(operation, { signal }), {
    onSuccess: (result) => session.leave(result?.url ? openProvider(result.url) : undefined),
    // If the session has already ended, the user is signed out, as intended.
    onError: (error) => error instanceof CallFailure && error.kind === 'signed-out' && session.leave(),
  })
  const { error } = signOut
  return (
    <>
      <Button
        {...look}
        leftSection={<IconLogout size={16} aria-hidden />}
        loading={signOut.isPending}
        onClick={() => signOut.mutate()}
      >
        {translate('admin.sign-out')}
      </Button>
      {error !== null && (
        <div className={classes.failure}>
          <Notice tone="bad" title={translate('admin.sign-out-failed')}>
            {error.message || translate('app.failure.unreachable')}
          </Notice>
        </div>
      )}
    </>
  )
}
