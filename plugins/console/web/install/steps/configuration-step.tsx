import { Button, Loader } from '@mantine/core'
import { IconArrowLeft, IconArrowRight } from '@tabler/icons-react'
import { type FormEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Frame } from '../../app/frame.tsx'
import { Notice } from '../../app/notice.tsx'
import { useLoaded } from '../../app/use-loaded.ts'
import type { Translate } from '../../text/texts.ts'
import { ApiFailureNotice } from '../api-failure-notice.tsx'
import { readDraft, storeDraft } from '../draft.ts'
import type { InstallApi } from '../install-api.ts'
import {
  type BrokenRule,
  type Field,
  formOf,
  groupsOf,
  hintOf,
  initialValues,
  isVisible,
  type Values,
  withChangedValue,
} from '../install-form.ts'
import { StepNavigation } from '../step-navigation.tsx'
import type { FormDefaults, InstallForm, PlanResult } from '../wire.ts'
import classes from './configuration-step.module.css'
import { FormGroup } from './form-group.tsx'
import { PlanDialog } from './plan-dialog.tsx'

/** An error at a form field, with the message of the server. */
export interface ServerFieldError {
  readonly field: string
  readonly message: string
}

interface ConfigurationStepProps {
  readonly api: InstallApi
  /** Input of an earlier visit to this step; `undefined` on the first visit. */
  readonly values: Values | undefined
  /** Error that an attempt to install has reported for a field. */
  readonly found: ServerFieldError | undefined
  onValues(values: Values): void
  onBack(): void
  onInstall(form: InstallForm): void
  onRejected(): void
}

/**
 * Errors by field path. An error is a rule of the page, which is shown in the current language, or a message of the
 * server.
 */
type Errors = Readonly<Record<string, BrokenRule | string>>

/** Step 2 of the installer: shows the form that the server describes, then a preview of the changes. */
export function ConfigurationStep({ api, values, found, ...on }: ConfigurationStepProps) {
  const { onValues, onBack, onInstall, onRejected } = on
  const { translate, language } = useLanguage()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the server responds in the language of the page
  const load = useCallback(() => Promise.all([api.schema(), api.defaults()]), [api, language])
  const { data, error, isLoading, reload } = useLoaded(load)
  const [schema, defaults] = data ?? []
  const groups = useMemo(() => (schema === undefined ? [] : groupsOf(schema)), [schema])
  const [errors, setErrors] = useState<Errors>({})
  const [general, setGeneral] = useState<readonly string[]>([])
  const [plan, setPlan] = useState<PlanResult | undefined>(undefined)
  const [planError, setPlanError] = useState<unknown>(undefined)
  const [isChecking, setChecking] = useState(false)
  const checking = useRef<AbortController>(undefined)
  useEffect(() => () => checking.current?.abort(), [])

  useEffect(() => {
    if (values !== undefined || defaults === undefined) return
    const url = new URL('..', document.baseURI).href.replace(/\/$/, '')
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    const initial = initialValues(groups, defaults, { url, language, timeZone })
    onValues({ ...initial, ...readDraft(groups) })
  }, [values, defaults, groups, language, onValues])
  useEffect(() => {
    if (values !== undefined && groups.length > 0) storeDraft(groups, values)
  }, [values, groups])

  // Server messages are in the previous language, so they are removed. The next check returns them again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when the language changes
  useEffect(() => {
    setGeneral([])
    setErrors((found) => Object.fromEntries(Object.entries(found).filter(([, error]) => typeof error !== 'string')))
  }, [language])

  // Shows an error once, as soon as the form exists. An error of an attempt to install is more specific than the
  // problem of the configured database, so it is preferred.
  const unshown = useRef(found)
  const isShown = useRef(false)
  useEffect(() => {
    if (isShown.current || defaults === undefined) return
    isShown.current = true
    const { field, message } = unshown.current ?? problemOf(defaults)
    if (message === '') return
    setErrors({ [field]: message })
    document.getElementById(fieldId(field))?.focus()
  }, [defaults])

  const fields = groups.flatMap((group) => group.fields)
  const current = values ?? {}
  const visible = fields.filter((field) => isVisible(field, current))

  const onChange = (field: Field, value: string | boolean) => {
    onValues(withChangedValue(groups, current, field.path, value))
    // After a correction, the field shows no error until the next check.
    setErrors(({ [field.path]: _, ...others }) => others)
  }
  const onLeave = (field: Field) => {
    const broken = current[field.path] === '' ? undefined : hintOf(field, current)
    if (broken !== undefined) setErrors((others) => ({ ...others, [field.path]: broken }))
  }

  const check = async () => {
    if (isChecking) return
    setGeneral([])
    setPlanError(undefined)
    const hints = visible.flatMap((field) => {
      const broken = hintOf(field, current)
      return broken === undefined ? [] : [[field.path, broken] as const]
    })
    const broken = Object.fromEntries(hints)
    setChecking(true)
    checking.current = new AbortController()
    try {
      const result = await api.plan(formOf(groups, current), checking.current.signal)
      const failed = result.checks.filter(({ status }) => status === 'failed')
      const isField = (path: string) => visible.some((field) => field.path === path)
      setGeneral(failed.filter(({ field }) => !isField(field)).map(({ message }) => message))
      const rejected = failed.filter(({ field }) => isField(field)).map(({ field, message }) => [field, message])
      // The rules that the page knows and those of the server are shown together.
      show({ ...Object.fromEntries(rejected), ...broken })
      if (result.passed && hints.length === 0) setPlan(result)
    } catch (failure) {
      show(broken)
      setPlanError(failure)
    } finally {
      setChecking(false)
    }
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void check()
  }
  const show = (found: Errors) => {
    setErrors(found)
    const first = visible.find(({ path }) => path in found)
    if (first !== undefined) document.getElementById(fieldId(first.path))?.focus()
  }

  const errorOf = (field: Field) => {
    const error = errors[field.path]
    return typeof error === 'object' ? ruleText(translate, error, field) : error
  }
  const count = Object.keys(errors).length
  return (
    <Frame
      place="configuration"
      title={translate('configuration.title')}
      lead={translate('configuration.lead')}
      navigation={<StepNavigation current="configuration" />}
      actions={
        <>
          <Button variant="default" leftSection={<IconArrowLeft size={16} aria-hidden />} onClick={onBack}>
            {translate('app.back')}
          </Button>
          {count > 0 && (
            <p className={classes.count} role="status">
              {translate('configuration.errors', { count })}
            </p>
          )}
          <Button
            type="submit"
            form={formId}
            disabled={data === undefined}
            loading={isChecking}
            rightSection={<IconArrowRight size={18} aria-hidden />}
          >
            {translate('configuration.next')}
          </Button>
        </>
      }
    >
      {error !== undefined && <ApiFailureNotice error={error} onRetry={reload} onRejected={onRejected} />}
      {planError !== undefined && <ApiFailureNotice error={planError} onRetry={check} onRejected={onRejected} />}
      {general.length > 0 && <Notice tone="bad" title={translate('configuration.general')} items={general} />}
      {data === undefined && isLoading && (
        <p className={classes.loading} role="status">
          <Loader size="sm" /> {translate('configuration.loading')}
        </p>
      )}
      <form id={formId} onSubmit={onSubmit} noValidate>
        {values !== undefined &&
          groups.map((group) => (
            <FormGroup
              key={group.code}
              group={group}
              values={values}
              errorOf={errorOf}
              idOf={fieldId}
              hasStoredPassword={defaults?.[group.code]?.['passwordSet'] === true}
              onChange={onChange}
              onLeave={onLeave}
            />
          ))}
      </form>
      {plan !== undefined && (
        <PlanDialog
          plan={plan}
          groups={groups}
          onClose={() => setPlan(undefined)}
          onInstall={() => onInstall(formOf(groups, current))}
        />
      )}
    </Frame>
  )
}

const formId = 'configuration'
const fieldId = (path: string) => `field-${path}`

/** Returns the reason why the configured database cannot be used. Older servers do not report it. */
const problemOf = ({ database }: FormDefaults): ServerFieldError => ({
  field: String(database?.['faultField'] ?? ''),
  message: String(database?.['fault'] ?? ''),
})

/** Returns the text of a broken rule. */
function ruleText(translate: Translate, { keyword, limit }: BrokenRule, { hints }: Field): string {
  switch (keyword) {
    case 'required':
      return translate('rule.required')
    case 'confirm':
      return translate('rule.confirm')
    case 'maxLength':
      return translate('rule.maxLength', { limit })
    case 'minimum':
    case 'maximum':
      return translate('rule.range', { minimum: hints.minimum ?? '…', maximum: hints.maximum ?? '…' })
    default:
      return translate('rule.integer')
  }
}
