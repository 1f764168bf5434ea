import { IconPencil, IconTrash } from '@tabler/icons-react'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { OwnPageView } from '../../api/page-types.ts'
import { PasskeyButton } from '../../factors/passkey-button.tsx'
import { canUsePasskeys } from '../../factors/passkeys.ts'
import { useFormats } from '../../pages/shown-value.ts'
import type { Change } from './change-dialog.tsx'
import type { Factors, FactorsAdded, Passkey } from './factor-types.ts'
import { IconButton, Part } from './part.tsx'
import classes from './security.module.css'

interface PasskeysProps {
  readonly factors: Factors
  readonly operations: OwnPageView['operations']
  onAdded(added: FactorsAdded): void
  onChange(change: Change): void
}

/** Maximum length of the name of a passkey. */
const maxName = 64

/** The passkeys of the user. */
export function Passkeys({ factors, operations, onAdded, onChange }: PasskeysProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const { passkeys, passkeysAvailable, passkeysUnavailableReason } = factors
  const { postAuthPasskeysOptions, postAuthPasskeys, putAuthPasskeysById, deleteAuthPasskeysById } = operations
  const unavailable = passkeysAvailable
    ? canUsePasskeys
      ? undefined
      : translate('security.passkeys.not-here')
    : passkeysUnavailableReason
  const rename = (passkey: Passkey) =>
    onChange({
      operation: putAuthPasskeysById,
      row: { ...passkey },
      title: translate('security.passkeys.rename'),
      fields: [
        {
          name: 'name',
          title: translate('security.passkeys.name'),
          required: true,
          nullable: false,
          schema: { type: 'string', minLength: 1, maxLength: maxName },
        },
      ],
    })
  const remove = (passkey: Passkey) =>
    onChange({
      operation: deleteAuthPasskeysById,
      row: { ...passkey },
      title: translate('security.passkeys.remove'),
      lead: translate('security.passkeys.remove-lead', { name: passkey.name }),
      isDangerous: true,
    })
  return (
    <Part title={translate('security.passkeys.title')} lead={translate('security.passkeys.lead')}>
      {passkeys.length === 0 ? (
        <p>{translate('security.passkeys.none')}</p>
      ) : (
        <ul className={classes.items}>
          {passkeys.map((passkey) => (
            <li key={passkey.id} className={classes.item}>
              <PasskeyText passkey={passkey} />
              <span className={classes.buttons}>
                <IconButton
                  Icon={IconPencil}
                  title={translate('security.passkeys.rename-of', { name: passkey.name })}
                  onClick={() => rename(passkey)}
                />
                <IconButton
                  Icon={IconTrash}
                  title={translate('security.passkeys.remove-of', { name: passkey.name })}
                  onClick={() => remove(passkey)}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
      {unavailable !== undefined && <p className={classes.quiet}>{unavailable}</p>}
      {unavailable === undefined && postAuthPasskeysOptions !== undefined && postAuthPasskeys !== undefined && (
        <PasskeyButton
          isCreation
          options={postAuthPasskeysOptions}
          labels={{ action: translate('security.passkeys.add'), failed: translate('factors.failed') }}
          send={(body, signal) => api.call<FactorsAdded>(postAuthPasskeys, { body, signal })}
          onDone={onAdded}
        />
      )}
    </Part>
  )
}

function PasskeyText({ passkey: { name, createdAt, lastUsedAt, usable, synced } }: { readonly passkey: Passkey }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const facts = [
    translate('security.passkeys.created', { time: formats.time(createdAt) }),
    lastUsedAt === null
      ? translate('security.passkeys.unused')
      : translate('security.passkeys.used', { time: formats.time(lastUsedAt) }),
    ...(synced ? [translate('security.passkeys.synced')] : []),
    ...(usable ? [] : [translate('security.passkeys.unusable')]),
  ]
  return (
    <span>
      <span className={classes.name}>{name}</span>
      {facts.map((fact) => (
        <span key={fact} className={classes.fact}>
          {fact}
        </span>
      ))}
    </span>
  )
}
