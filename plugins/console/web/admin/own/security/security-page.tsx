import { Anchor, Button, Modal } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { addTexts } from '../../../text/texts.ts'
import { useApi } from '../../api/context.tsx'
import type { Operation, OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { RecoveryCodes } from '../../factors/recovery-codes.tsx'
import factorsEn from '../../factors/text/en.json' with { type: 'json' }
import factorsZhCN from '../../factors/text/zh-CN.json' with { type: 'json' }
import { TotpSetUp } from '../../factors/totp-set-up.tsx'
import page from '../../pages/declared-page.module.css'
import { LoadState } from '../../pages/load-state.tsx'
import { PageHead } from '../../pages/page-head.tsx'
import { useFormats } from '../../pages/shown-value.ts'
import { useSite } from '../../shell/site-context.ts'
import { type Change, ChangeDialog } from './change-dialog.tsx'
import type { Factors, FactorsAdded } from './factor-types.ts'
import { LinkedAccounts } from './linked-accounts.tsx'
import { Part } from './part.tsx'
import { Passkeys } from './passkeys.tsx'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })
addTexts({ en: factorsEn, 'zh-CN': factorsZhCN })

/** Other pages about the account of the user. A product may not have all of them. */
const relatedPages = ['iam.own-account', 'iam.own-api-tokens']

/** Shows how the user signs in: passkeys, authenticator app, recovery codes and linked accounts. */
export default function SecurityPage({ page: { title, operations } }: { readonly page: OwnPageView }) {
  const { translate } = useLanguage()
  const { groups } = useSite()
  const related = groups.flatMap(({ pages }) => pages).filter(({ id }) => relatedPages.includes(id))
  const { getAuthAuthenticators, getAuthOidcIdentities } = operations
  return (
    <>
      <PageHead title={title} lead={translate('security.lead')} />
      {getAuthAuthenticators !== undefined && <OwnFactors read={getAuthAuthenticators} operations={operations} />}
      {getAuthOidcIdentities !== undefined && <LinkedAccounts read={getAuthOidcIdentities} operations={operations} />}
      {related.length > 0 && (
        <section className={page.section}>
          <h2>{translate('security.more')}</h2>
          <ul>
            {related.map(({ id, title: name }) => (
              <li key={id}>
                <Anchor component={Link} href={`/${id}`}>
                  {name}
                </Anchor>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

interface OwnFactorsProps {
  readonly read: Operation
  readonly operations: OwnPageView['operations']
}

function OwnFactors({ read, operations }: OwnFactorsProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const formats = useFormats()
  const [change, setChange] = useState<Change>()
  const [codes, setCodes] = useState<readonly string[]>()
  const factors = useOperation<Factors>(read)
  const onAdded = ({ recoveryCodes }: FactorsAdded) => {
    if (recoveryCodes) setCodes(recoveryCodes)
    void client.invalidateQueries({ queryKey: [read.operation] })
  }
  if (factors.data === undefined) return <LoadState of={factors} lines={3} height={120} />
  const changeButton = (next: Change) => (
    <Button variant="default" size="sm" onClick={() => setChange(next)}>
      {next.title}
    </Button>
  )
  const { totp, recoveryCodes } = factors.data
  const { postAuthTotpOptions, postAuthTotp, deleteAuthTotp, postAuthRecoveryCodes } = operations
  return (
    <>
      <Required factors={factors.data} />
      <Passkeys factors={factors.data} operations={operations} onAdded={onAdded} onChange={setChange} />
      <Part title={translate('security.totp.title')} lead={translate('security.totp.lead')}>
        {totp !== null && (
          <>
            <p>{translate('security.totp.since', { time: formats.time(totp.since) })}</p>
            {changeButton({
              operation: deleteAuthTotp,
              title: translate('security.totp.remove'),
              lead: translate('security.totp.remove-lead'),
              isDangerous: true,
            })}
          </>
        )}
        {postAuthTotpOptions !== undefined && postAuthTotp !== undefined && (
          // The key closes the secret of an app that is now set up.
          <TotpSetUp
            key={totp?.since}
            options={postAuthTotpOptions}
            {...(totp !== null && { label: translate('security.totp.replace') })}
            send={(body, signal) => api.call<FactorsAdded>(postAuthTotp, { body, signal })}
            onDone={onAdded}
          />
        )}
      </Part>
      <Part title={translate('security.codes.title')} lead={translate('security.codes.lead')}>
        {recoveryCodes === null ? (
          <p>{translate('security.codes.none')}</p>
        ) : (
          <>
            <p>
              {translate('security.codes.left', {
                count: recoveryCodes.left,
                time: formats.time(recoveryCodes.createdAt),
              })}
            </p>
            {changeButton({
              operation: postAuthRecoveryCodes,
              title: translate('security.codes.renew'),
              lead: translate('security.codes.renew-lead'),
              onDone: (answer) => setCodes((answer as { readonly codes: readonly string[] }).codes),
            })}
          </>
        )}
      </Part>
      {change !== undefined && <ChangeDialog change={change} onClose={() => setChange(undefined)} />}
      {codes !== undefined && (
        <Modal
          opened
          onClose={() => {}}
          title={translate('security.codes.title')}
          withCloseButton={false}
          closeOnEscape={false}
          closeOnClickOutside={false}
          size="lg"
        >
          <RecoveryCodes codes={codes} onDone={() => setCodes(undefined)} />
        </Modal>
      )}
    </>
  )
}

/** Tells the user that a role requires a second factor that the user does not have yet. */
function Required({ factors: { required, requiredFrom, passkeys, totp } }: { readonly factors: Factors }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const hasFactor = totp !== null || passkeys.some(({ usable }) => usable)
  if (hasFactor || (!required && requiredFrom === null)) return null
  return (
    <Notice tone="warn" title={translate('security.required.title')}>
      {required || requiredFrom === null
        ? translate('security.required.now')
        : translate('security.required.from', { time: formats.time(requiredFrom) })}
    </Notice>
  )
}
