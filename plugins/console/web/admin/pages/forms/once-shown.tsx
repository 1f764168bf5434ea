import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import classes from './dialog.module.css'

/** A value that nobody sees again. It lives in this component alone. */
export function OnceShown({ value, onClose }: { readonly value: string; onClose(): void }) {
  const { say } = useSpeech()
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(value)
    setCopied(true)
  }
  return (
    <div className={classes.form}>
      <Notice tone="warn" title={say('admin.once.title')}>
        <p>{say('admin.once.text')}</p>
      </Notice>
      <TextInput
        aria-label={say('admin.once.title')}
        value={value}
        readOnly
        onFocus={(event) => event.currentTarget.select()}
      />
      <div className={classes.buttons}>
        <Button variant="default" onClick={() => void copy()}>
          {say(isCopied ? 'admin.once.copied' : 'admin.once.copy')}
        </Button>
        <Button onClick={onClose}>{say('admin.once.done')}</Button>
      </div>
    </div>
  )
}
