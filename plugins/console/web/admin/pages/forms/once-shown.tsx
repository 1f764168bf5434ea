import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import classes from './dialog.module.css'

/** Shows a value that the server returns only once. The value is kept only in this component. */
export function OnceShown({ value, onClose }: { readonly value: string; onClose(): void }) {
  const { translate } = useLanguage()
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(value)
    setCopied(true)
  }
  return (
    <div className={classes.form}>
      <Notice tone="warn" title={translate('admin.once.title')}>
        <p>{translate('admin.once.text')}</p>
      </Notice>
      <TextInput
        aria-label={translate('admin.once.title')}
        value={value}
        readOnly
        onFocus={(event) => event.currentTarget.select()}
      />
      <div className={classes.buttons}>
        <Button variant="default" onClick={() => void copy()}>
          {translate(isCopied ? 'admin.once.copied' : 'admin.once.copy')}
        </Button>
        <Button onClick={onClose}>{translate('admin.once.done')}</Button>
      </div>
    </div>
  )
}
