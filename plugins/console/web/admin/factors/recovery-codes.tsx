import { Button } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { siteName, useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import { downloadText } from '../pages/download.ts'
import classes from './factors.module.css'

/** Shows recovery codes once. The codes are kept only in this component. */
export function RecoveryCodes({ codes, onDone }: { readonly codes: readonly string[]; onDone(): void }) {
  const { translate } = useLanguage()
  const clipboard = useClipboard()
  const text = codes.join('\n')
  const download = () => {
    const head = translate('factors.codes.file', { site: siteName, origin: location.origin })
    downloadText(`${head}\n\n${text}\n`, `${translate('factors.codes.file-name')}.txt`, 'text/plain')
  }
  return (
    <div className={classes.step}>
      <Notice tone="warn" title={translate('factors.codes.title')}>
        <p>{translate('factors.codes.lead')}</p>
      </Notice>
      <ul className={classes.codes}>
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className={classes.buttons}>
        <Button variant="default" onClick={() => clipboard.copy(text)}>
          {translate(clipboard.copied ? 'admin.once.copied' : 'admin.once.copy')}
        </Button>
        <Button variant="default" onClick={download}>
          {translate('factors.codes.download')}
        </Button>
        <Button onClick={onDone}>{translate('factors.codes.done')}</Button>
      </div>
    </div>
  )
}
