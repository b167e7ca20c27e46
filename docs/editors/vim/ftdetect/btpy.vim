" Files of bpftrace have the same ending: the first line decides.
autocmd BufNewFile,BufRead *.bt if getline(1) =~# '^#!.*btpy\|^btpy \d\|^@On\|^//' | setfiletype btpy | endif
autocmd BufNewFile,BufRead * if getline(1) =~# '^#!.*\<btpy\>' | setfiletype btpy | endif
