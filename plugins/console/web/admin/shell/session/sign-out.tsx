import { Button, type ButtonProps } from '@mantine/core'
import { IconLogout } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useSpeech } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import { logout } from './session-calls.ts'
import type { SessionState } from './session-state.ts'

/** Ends the session, here and in the other tabs of this browser. */
export function SignOut({ session, ...look }: ButtonProps & { readonly session: SessionState }) {
  const { say } = useSpeech()
  const api = useApi()
  const signOut = useMutation({ mutationFn: () => api.call(logout), onSettled: () => session.leave() })
  return (
    <Button
      {...look}
      leftSection={<IconLogout size={16} aria-hidden />}
      loading={signOut.isPending}
      onClick={() => signOut.mutate()}
    >
      {say('admin.sign-out')}
    </Button>
  )
}
