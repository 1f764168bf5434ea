import { Button } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { LinkedProviders, SignInProviders } from '../../api/operations.ts'
import type { Operation, OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWrite } from '../../api/use-write.ts'
import { CallError } from '../../pages/call-error.tsx'
import { LoadState } from '../../pages/load-state.tsx'
import { useFormats } from '../../pages/shown-value.ts'
import { addressHere, leaveTo } from '../../providers/provider-flow.ts'
import { type Change, ChangeDialog } from './change-dialog.tsx'
import { IconButton, Part } from './part.tsx'
import classes from './security.module.css'

interface LinkedAccountsProps {
  readonly read: Operation
  readonly operations: OwnPageView['operations']
}

/** The accounts of other providers with which the user can sign in. */
export function LinkedAccounts({ read, operations }: LinkedAccountsProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const formats = useFormats()
  const [change, setChange] = useState<Change>()
  const { getAuthOidcProviders, postAuthOidcByProviderLinkStart, deleteAuthOidcIdentitiesById } = operations
  const linked = useOperation<LinkedProviders>(read)
  const providers = useOperation<SignInProviders>(getAuthOidcProviders, {
    enabled: getAuthOidcProviders !== undefined,
  })
  const start = useWrite(
    (signal, provider: string) =>
      api.call<{ readonly url: string }>(postAuthOidcByProviderLinkStart as Operation, {
        params: { provider },
        signal,
      }),
    { onSuccess: ({ url }, provider) => leaveTo(url, { provider, purpose: 'link', returnTo: addressHere() }) },
  )
  if (linked.data === undefined) return <LoadState of={linked} lines={1} height={120} />
  const { identities } = linked.data
  const others = (providers.data?.providers ?? []).filter(
    ({ id }) => !identities.some(({ provider }) => provider === id),
  )
  return (
    <Part title={translate('security.linked.title')} lead={translate('security.linked.lead')}>
      {identities.length === 0 && <p>{translate('security.linked.none')}</p>}
      <ul className={classes.items}>
        {identities.map((identity) => (
          <li key={identity.id} className={classes.item}>
            <span>
              <span className={classes.name}>{identity.title}</span>
              <span className={classes.fact}>{identity.subjectShown}</span>
              <span className={classes.fact}>
                {translate('security.linked.since', { time: formats.time(identity.createdAt) })}
              </span>
            </span>
            <IconButton
              Icon={IconTrash}
              title={translate('security.linked.remove-of', { title: identity.title })}
              onClick={() =>
                setChange({
                  operation: deleteAuthOidcIdentitiesById,
                  row: { ...identity },
                  title: translate('security.linked.remove'),
                  lead: translate('security.linked.remove-lead'),
                  isDangerous: true,
                })
              }
            />
          </li>
        ))}
      </ul>
      <CallError title={translate('security.linked.failed')} error={start.error} />
      {others.map(({ id, title }) => (
        <Button
          key={id}
          variant="default"
          loading={start.isPending && start.variables === id}
          onClick={() => start.mutate(id)}
        >
          {translate('security.linked.link', { title })}
        </Button>
      ))}
      {change !== undefined && <ChangeDialog change={change} onClose={() => setChange(undefined)} />}
    </Part>
  )
}
